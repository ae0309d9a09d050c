"""On a machine with a GPU: the checks give the same verdicts there as on the CPU."""

import pytest
import torch

import course_utils
from support.answers import chapters, exercises, model_answer, read_answers, run_answer

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_every_answer_gets_the_same_verdicts_on_cpu_and_gpu(chapter, monkeypatch):
    answers = [model_answer(chapter, exercise) for exercise in exercises(chapter)]
    answers += read_answers(chapter)
    verdicts = {}
    for kind in ("cpu", "cuda"):
        monkeypatch.setattr(course_utils, "device", torch.device(kind))
        verdicts[kind] = {
            (answer.exercise, answer.name): [
                type(error) for error in run_answer(chapter, answer).values()
            ]
            for answer in answers
        }
    assert verdicts["cuda"] == verdicts["cpu"]
