import os
import signal
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import torch
import torch.nn as nn
from expect import close
from runs import (
    Net,
    Run,
    a_run,
    error_of,
    late_on_two_ranks,
    on_two_ranks,
    raised_by,
    terminate,
    whole_on_two_ranks,
    write_half,
)


def test_the_steps_of_one_process():
    with a_run() as run:
        assert run(4) == 4, "fit returns how many steps of the run are done"
        steps = [step for step, *_ in run.seen]
        assert steps == [0, 1, 2, 3], f"batches were asked for steps {steps}, not for 0 to 3"
        wrong = [one[1:3] for one in run.seen if one[1:3] != (0, 1)]
        assert not wrong, f"without a group, rank and world size are 0 and 1, not {wrong[:1]}"
        seeds = [seed for *_, seed in run.seen]
        assert seeds == [0, 1, 2, 3], (
            f"when the batches were asked for, torch's seeds were {seeds}: at the start of a step "
            "call torch.manual_seed(step * world_size + rank)"
        )


def test_alone_whatever_the_environment_says():
    with a_run() as run, patch.dict("os.environ", WORLD_SIZE="2", RANK="1"):
        try:
            run(1)
        except (RuntimeError, ValueError) as error:
            raise AssertionError(
                "WORLD_SIZE is 2 in the environment, and no group is initialised: fit runs alone, "
                f"and made a collective call: {error}"
            ) from None
        assert run.seen[0][1:3] == (0, 1), "without a group, rank and world size are 0 and 1"
        assert run.file.exists(), "a run without a group is alone, and keeps its file"


def test_the_steps_are_those_of_the_loop():
    with a_run(p=0.0) as run:
        run(3)
        torch.manual_seed(0)
        model = Net(0.0)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
        for step in range(3):
            x, y = Run.batch(run, step, 0, 1)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        assert torch.equal(run.model.fixed.weight, model.fixed.weight), (
            "a frozen parameter has moved: a step starts from its own batch's gradient alone, and "
            "the old ones have to go, to None, that of a frozen parameter as well; where it is 0, "
            "the weight still decays"
        )
        right = torch.cat([p.detach().flatten() for p in (*model.parameters(), model.shift)])
        close(run.weights(), right, "the weights after three steps: does each start from its own "
              "batch's gradient alone?", 1e-4, 1e-6)  # fmt: skip


def test_the_file_holds_the_run():
    with a_run() as run:
        run(3)
        assert run.file.exists(), "no file was written at the end"
        saved = torch.load(run.file, weights_only=True)
        assert set(saved) == {"step", "model", "optimizer"}, f"the file holds {sorted(saved)}"
        assert saved["step"] == 3, f'after 3 steps "step" is {saved["step"]}'
        same = torch.equal(saved["model"]["body.0.weight"], run.model.body[0].weight)
        assert same, "the file's weights are not those after the last step"


def test_a_run_continues_to_the_last_bit():
    with a_run() as straight, a_run() as broken:
        straight(6)
        broken(3)
        assert broken.step_in_file() == 3, "after 3 steps the file holds another run"
        assert broken(6, seed=7) == 6, "a run that continues returns the steps of the whole run"
        steps = [step for step, *_ in broken.seen]
        assert steps == [3, 4, 5], f"after 3 of 6 steps come 3, 4 and 5, not {steps}"
        assert torch.equal(straight.weights(), broken.weights()), (
            "3 + 3 steps differ from 6: weights, the optimizer's state and the step go on from the "
            "file, and so does the seed of each step"
        )


def test_a_finished_run_is_only_loaded():
    with a_run() as run:
        run(3)
        before = run.weights()
        assert run.step_in_file() == 3, "after 3 steps the file holds another run"
        done = run(3, seed=5)
        assert not run.seen, "a finished run was trained further"
        assert done == 3, f"a run of 3 steps is complete: fit returns 3, not {done}"
        assert torch.equal(run.weights(), before), "the weights of a finished run were not loaded"


def test_a_run_of_no_steps():
    with a_run() as run, a_run() as straight:
        try:
            done = run(0)
        except (NameError, IndexError) as error:
            raise AssertionError(f"a run of 0 steps has no last step to look at: {error}") from None
        assert not run.seen, "a run of 0 steps asked for a batch: look before a step, not after"
        assert done == 0, f"of 0 steps none is done: fit returns 0, not {done}"
        torch.manual_seed(0)
        fresh = torch.cat([p.detach().flatten() for p in Net(0.5).parameters()])
        assert torch.equal(run.weights()[:-1], fresh), "a run of 0 steps changed the weights"
        assert not run.file.exists() or torch.load(run.file)["step"] == 0, (
            'a run of 0 steps was kept: its "step" is 0'
        )
        straight(2)
        assert run(2) == 2, "after a run of 0 steps, one of 2 returns 2"
        assert torch.equal(run.weights(), straight.weights()), (
            "a run of 0 steps and then of 2 differs from one of 2"
        )


def test_the_file_may_be_a_text():
    with a_run() as run:
        run.as_text = True
        try:
            done = run(2), run(3)
        except (AttributeError, TypeError) as error:
            raise AssertionError(f"file may be a str as well as a Path: {error}") from None
        assert run.step_in_file() == 3, "file is a str: another run"
        assert done == (2, 3), f"a run of 2 steps, then of 3: fit returns 2 and 3, not {done}"


def test_it_is_kept_every_so_often():
    with a_run() as run:
        run(5, every=2)
        assert run.kept == {0: 0, 1: 0, 2: 2, 3: 2, 4: 4}, (
            f"at the start of each step the file held {run.kept}: with every=2 it is written after "
            "2 steps and after 4, and at the end"
        )
        assert torch.load(run.file)["step"] == 5, "the end of the run was not kept"
        run(9, every=2)
        assert run.kept == {5: 5, 6: 6, 7: 6, 8: 8}, (
            f"continued after 5 steps, at the start of each step the file held {run.kept}: "
            "it is the step's number in the whole run that every=2 divides, "
            "not its number since the start"
        )


def test_a_save_that_dies_leaves_the_file_whole():
    tried, there = [], []

    def half(state, place, *more, **others):
        tried.append(place)
        write_half(place)
        there.append(run.file.exists() and run.file.read_bytes())
        raise OSError("the disk is full")

    with a_run() as run:
        run(2)
        assert run.step_in_file() == 2, "after 2 steps the file holds another run"
        good = run.file.read_bytes()
        with patch("torch.save", half):
            error = raised_by(lambda: run(4))
        assert tried, "the end of the run was not saved by torch.save"
        assert error is not None, "the error of a save that failed was swallowed"
        assert isinstance(error, OSError), (
            f"torch.save raised OSError, and fit {error!r}: the error of a save is raised as it is"
        )
        assert run.file.read_bytes() != b"half", (
            "a save that died half-way destroyed the last good file: write beside it, then replace"
        )
        assert torch.load(run.file)["step"] == 2, "the last good file was changed"
        assert there[0] == good, (
            "in the middle of a save the last good file is not in its place, and whoever is killed "
            "there brings nothing back: write beside it, then replace"
        )
        try:
            done = run(4)
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(
                "a save died half-way, and the next call of fit fails over what it left beside the "
                f"good file; it continues from `file`, whatever lies beside it: {error!r}"
            ) from None
        steps = [step for step, *_ in run.seen]
        assert (done, steps) == (4, [2, 3]), (
            f"a save died half-way after 2 steps were kept; the next call did steps {steps}, not "
            "2 and 3: it continues from `file`, whatever lies beside it"
        )
        assert run.step_in_file() == 4, "after a save that died, the next one isn't in the file"
        names = [one if isinstance(one, str | Path) else getattr(one, "name", 0) for one in tried]
        folders = {Path(one).resolve().parent for one in names if isinstance(one, str | Path)}
        home = run.file.resolve().parent
        assert all(home in (one, *one.parents) for one in folders), (
            "the new file is written in another folder than that of `file`: that may be another "
            "disk, and `os.replace` can't move from disk to disk. Write it beside `file`"
        )


def test_the_file_has_the_name_of_the_one_beside_it():
    moved = []

    def noted(move):
        return lambda source, *more, **named: (moved.append(source), move(source, *more, **named))

    def half(state, place, *more, **others):
        write_half(place)
        raise OSError("the disk is full")

    replaced, renamed = (
        patch(f"os.{name}", noted(getattr(os, name))) for name in ("replace", "rename")
    )
    with replaced, renamed, a_run() as run:
        run(1)
    for name in {Path(place).name for place in moved}:
        with a_run() as run:
            run.file = run.file.with_name(name)
            run(2)
            with patch("torch.save", half), suppress(OSError):
                run(3)
            assert run.file.read_bytes() != b"half", (
                f"`file` may be called {name} as well, and then it is the file beside it that a "
                "save that dies leaves half written: add to its name, `file.name + …`, whatever "
                "that is; with_suffix takes a part of it away"
            )


def test_a_move_that_dies_leaves_the_file_whole():
    def dies(*places, **named):
        raise OSError("the power is gone")

    with a_run() as run:
        run(2)
        good, other = run.file.read_bytes(), run.file.with_name("another name of the same file")
        with suppress(OSError):  # a file system without such names
            other.hardlink_to(run.file)
        run(4)
        assert not other.exists() or other.read_bytes() == good, (
            "the last good file was written over: what is copied there is half there for a while; "
            "`os.replace` takes its place at once"
        )
    with a_run() as run:
        run(2)
        with patch("os.replace", dies), patch("os.rename", dies), suppress(OSError):
            run(4)
        assert run.file.exists(), (
            "a save died while it moved the new file into its place, and the old one was gone "
            "already: `os.replace` takes its place at once"
        )
        assert torch.load(run.file)["step"] in (2, 4), "the last good file was changed"


def test_sigterm_ends_the_run_after_the_step():
    with a_run() as run:
        reached = []

        def former(number, frame):
            reached.append(number)

        def twice(step, rank):
            terminate(step, rank)
            terminate(step, rank)

        mine = signal.signal(signal.SIGTERM, former)
        try:
            done = run(6, at_step=twice)
            after = signal.getsignal(signal.SIGTERM)
        finally:
            signal.signal(signal.SIGTERM, mine)
        assert len(reached) != 1, (
            "SIGTERM came twice in a step, and the second one reached the former handler, which "
            "may end the program in the middle of the step: put it back when `fit` ends, not before"
        )
        assert done == 3, f"SIGTERM came in step 2, so 3 steps are done, not {done}"
        assert run.file.exists() and torch.load(run.file)["step"] == 3, "the run was not kept"
        assert after is former, "the handler that was there before is not back"
    with a_run() as run:
        done = run(3, at_step=terminate)
        why = "; does the note of an earlier call stop this one?" if done == 1 else ""
        assert done == 3, f"SIGTERM came in the last of 3 steps: all are done, not {done}{why}"
        kept = run.file.exists() and torch.load(run.file)["step"] == 3
        assert kept, "SIGTERM came in the last step, and the end of the run was not kept"


def test_sigterm_during_the_last_save():
    save, reached = torch.save, []

    def signalled(state, place, *more, **others):
        signal.raise_signal(signal.SIGTERM)
        return save(state, place, *more, **others)

    with a_run() as run:
        mine = signal.signal(signal.SIGTERM, lambda *_: reached.append(True))
        try:
            with patch("torch.save", signalled):
                done = run(2, at_step=lambda *_: None)  # as where a signal is sent
        finally:
            signal.signal(signal.SIGTERM, mine)
        assert not reached, (
            "SIGTERM came during the last save and reached the former handler, which may end the "
            "program in the middle of the file: put it back behind the last save"
        )
        assert done == 2 and run.step_in_file() == 2, (
            "SIGTERM came during the last save: all is kept"
        )


def test_the_handler_is_back_after_an_error():
    def fail(step, rank):
        raise RuntimeError("no batch")

    with a_run() as run:
        raised, after = error_of(run, at_step=fail)
        assert after == signal.SIG_IGN, "after an error the former handler is not back"
        assert raised is not None, "the error of a batch was swallowed: it is raised as it is"
        same = type(raised) is RuntimeError and str(raised) == "no batch"
        assert same, f"a batch raised RuntimeError: no batch, and fit {raised!r}"
        run.file.write_bytes(b"no run")
        _, after = error_of(run)
        assert after == signal.SIG_IGN, "a file was unreadable: the former handler is not back"


def test_two_ranks_and_a_signal_for_one():
    first, second = on_two_ranks()
    assert (first[0], second[0]) == (5, 5), "both ranks return the steps that are done"
    for rank, one in enumerate((first, second)):
        right = [(step, rank, 2) for step in range(5)]
        assert one[4] == right, f"rank {rank} asked for {one[4][:2]}: step, rank, world size"
        seeds = [2 * step + rank for step in range(5)]
        assert one[5] == seeds, f"rank {rank} had seeds {one[5][:3]}: step * world_size + rank"
    assert torch.equal(first[6][0][:-1], second[6][0][:-1]), (
        "the ranks' weights differ: they start from rank 0's, and every gradient is the mean over "
        "the ranks"
    )
    assert torch.equal(first[6][0], second[6][0]), (
        "the ranks' buffers differ: all start with those of rank 0, as with its weights"
    )
    assert first[7][0] == second[7][0], (
        "the ranks' buffers differ: all start with those of rank 0, also those of whole numbers"
    )
    assert first[7] == second[7], (
        "a buffer that is not in the state dict, persistent=False, differs from rank to rank: "
        "model.buffers() has it"
    )
    assert None in (first[3], second[3]) or first[8] == second[8], (
        "two ranks continued from a file, and a buffer that is not in the state dict differs from "
        "rank to rank: rank 0's buffers go to all, with a file as well"
    )
    stopped = first[1], second[1]
    assert stopped == (3, 3), (
        f"rank 1 alone got SIGTERM in step 2: both stop after 3 steps, not after {stopped}"
    )
    kept = first[2], second[2]
    assert kept == (3, 3), f"when fit returns on any rank, the file of 3 steps is there, not {kept}"
    again = first[3], second[3]
    assert again == (5, 5), (
        f"after the signal the same call continues and returns 5, all steps of the run, not {again}"
    )
    assert torch.equal(first[6][0], first[6][1]), (
        "a run of two ranks that was stopped and continued differs from one that was not"
    )
    torch.manual_seed(0)
    fixed = Net(0.5).fixed.weight[0]
    assert torch.equal(first[6][0][-5:-2], fixed), (
        "two ranks moved a frozen parameter: where it has no gradient it gets none, for with one "
        "of 0 the weight still decays"
    )


def test_two_ranks_and_a_signal_during_a_save():
    first, second = late_on_two_ranks()
    assert first == second, (
        f"rank 0 got SIGTERM while it saved, and the ranks did {first} and {second} steps: all "
        "stop after the same step"
    )


def test_two_ranks_equal_one_with_the_whole_batch():
    found = whole_on_two_ranks()
    for dtype, near in ((torch.float32, 1e-5), (torch.float64, 1e-13)):
        with a_run(p=0.0, plain=True) as run:
            run.dtype = dtype
            run(4)
            for rank in range(2):
                why = (
                    f"rank {rank} of 2 differs from one process with the whole batch: rank 0's "
                    "weights first, then gradients' means"
                )
                why += ". The model is torch.float64: keep to that" * (dtype == torch.float64)
                close(found[rank][dtype], run.weights(), why, 100 * near, near)
