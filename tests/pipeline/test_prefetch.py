"""An iterator that runs ahead gives the same, and stops when nobody listens."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from docpruner.pipeline.prefetch import prefetch


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "docpruner-reader"]


def counted(made: list[int], last: int = 10**5) -> Iterator[int]:
    for number in range(last):
        made.append(number)
        yield number


@pytest.mark.parametrize("size", [1, 3, 100])
def test_items_come_in_their_order(size):
    assert list(prefetch(iter(range(50)), size)) == list(range(50))
    assert readers() == []


def test_nothing_gives_nothing():
    assert list(prefetch(iter(()), 3)) == []


def test_items_may_be_none():
    assert list(prefetch(iter([None, None]), 3)) == [None, None]


def test_an_error_comes_after_the_items_before_it():
    def failing() -> Iterator[int]:
        yield 1
        yield 2
        raise KeyError("third")

    items = prefetch(failing(), 10)
    assert [next(items), next(items)] == [1, 2]
    with pytest.raises(KeyError, match="third"):
        next(items)
    assert readers() == []


def test_items_are_made_in_another_thread_before_they_are_asked_for():
    third_made = threading.Event()

    def items() -> Iterator[int]:
        yield 1
        yield 2
        third_made.set()
        yield 3

    with closing(prefetch(items(), 5)) as items_ahead:
        assert next(items_ahead) == 1
        assert third_made.wait(10)


def test_no_more_than_asked_for_are_made_prefetch():
    made: list[int] = []
    with closing(prefetch(counted(made), 4)) as items:
        for wanted in range(20):
            assert next(items) == wanted
            assert len(made) <= wanted + 1 + 4 + 1  # given, waiting, and the one being offered


def test_closing_early_stops_the_thread():
    made: list[int] = []
    items = prefetch(counted(made), 2)
    next(items)
    items.close()
    assert readers() == []
    assert len(made) <= 4


def test_closing_before_the_first_item_starts_nothing():
    made: list[int] = []
    prefetch(counted(made), 2).close()
    assert made == []
    assert readers() == []


def test_closing_interrupts_what_the_thread_waits_for():
    interrupted = threading.Event()

    def waiting() -> Iterator[int]:
        yield 1
        assert interrupted.wait(30)
        yield 2

    items = prefetch(waiting(), 2, interrupt=interrupted.set)
    assert next(items) == 1
    items.close()
    assert readers() == []
