"""Garbage is looked for in what is new."""

import gc

from course_utils.learner.garbage import what_is_new_alone


class Thing:
    """Garbage as soon as nobody but itself refers to it."""

    def __init__(self):
        self.itself = self


def things():
    return [one for one in gc.get_objects() if type(one) is Thing]


def test_what_was_there_before_is_passed_over_and_what_is_new_is_collected():
    old = Thing()
    with what_is_new_alone():
        new = Thing()
        assert things() == [new]
        del new
        gc.collect()
        assert things() == []
    assert old in things()
    del old
    gc.collect()
    assert things() == []


def test_everything_is_listed_again_after_an_error():
    old = Thing()
    try:
        with what_is_new_alone():
            raise ValueError
    except ValueError:
        pass
    assert old in things()
