"""Bytes of storages, each counted once."""

import torch

from course_utils import bytes_of, saved_bytes


def test_bytes_are_counted_once_and_not_those_of_others():
    x, y = torch.ones(4), torch.ones(2)
    assert bytes_of([x, x[1:], {"y": (y, 3)}]) == 24
    assert bytes_of([x, y], without=[x[:1]]) == 8


def test_saved_bytes_count_each_storage_once():
    x = torch.ones(10, requires_grad=True)
    assert saved_bytes(lambda: x * 2) == 0
    assert saved_bytes(lambda: x.exp()) == 40
    assert saved_bytes(lambda: x * x) == 40
