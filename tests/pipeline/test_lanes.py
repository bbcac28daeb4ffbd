"""Lanes give the same as one loop would, and stop when one of them fails or nobody listens."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator

import pytest

from docpruner.pipeline.lanes import Channel, Lanes


def running() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("docpruner-")]


def counted(made: list[int], last: int = 10**5) -> Iterator[int]:
    for number in range(last):
        made.append(number)
        yield number


def doubled(numbers: Iterable[int]) -> Iterator[int]:
    for number in numbers:
        yield 2 * number


def failing_at(place: int, items: Iterable[int]) -> Iterator[int]:
    for item in items:
        if item == place:
            raise KeyError(f"at {place}")
        yield item


@pytest.mark.parametrize("size", [1, 3, 100])
def test_items_come_in_their_order(size):
    with Lanes() as lanes:
        numbers = lanes.begin("first", range(50), size)
        assert list(lanes.begin("second", doubled(numbers), size)) == list(range(0, 100, 2))
    assert running() == []


def test_nothing_gives_nothing_and_items_may_be_none():
    with Lanes() as lanes:
        assert list(lanes.begin("empty", (), 3)) == []
        assert list(lanes.begin("nones", [None, None], 3)) == [None, None]


def test_an_error_comes_after_the_items_before_it_through_all_lanes():
    with Lanes() as lanes:
        numbers = lanes.begin("first", failing_at(2, range(9)), 10)
        items = iter(lanes.begin("second", doubled(numbers), 10))
        assert [next(items), next(items)] == [0, 2]
        with pytest.raises(KeyError, match="at 2"):
            next(items)
    assert running() == []


def test_a_lane_that_fails_stops_those_before_it():
    made: list[int] = []
    with Lanes() as lanes:
        numbers = lanes.begin("first", counted(made), 2)
        here: Channel[int] = lanes.channel(2)
        last = lanes.begin("last", failing_at(30, here), 1)
        taken: list[int] = []
        listening = threading.Thread(target=lambda: taken.extend(_until_error(last)))
        listening.start()
        lanes.run(doubled(numbers), here)  # returns, although nobody takes any more
        listening.join(10)
        with pytest.raises(KeyError, match="at 30"):
            list(last)
    assert taken == list(range(0, 30, 2))
    assert len(made) < 30
    assert running() == []


def _until_error(items: Iterable[int]) -> Iterator[int]:
    try:
        yield from items
    except KeyError:
        return


def test_an_error_in_the_callers_own_lane_lets_the_others_finish_what_came_before():
    with Lanes() as lanes:
        here: Channel[int] = lanes.channel(1)
        last = lanes.begin("last", doubled(here), 10)
        lanes.run(failing_at(3, range(9)), here)
        items = iter(last)
        assert [next(items) for _ in range(3)] == [0, 2, 4]
        with pytest.raises(KeyError, match="at 3"):
            next(items)


def test_ctrl_c_in_the_callers_own_lane_comes_through_at_once():
    def interrupted(numbers: Iterable[int]) -> Iterator[int]:
        for number in numbers:
            if number == 5:
                raise KeyboardInterrupt
            yield number

    made: list[int] = []
    with Lanes() as lanes:
        numbers = lanes.begin("first", counted(made), 2)
        here: Channel[int] = lanes.channel(100)
        lanes.begin("last", doubled(here), 100)
        with pytest.raises(KeyboardInterrupt):
            lanes.run(interrupted(numbers), here)
    assert running() == []
    assert len(made) <= 10


def test_no_more_than_asked_for_are_made_in_advance():
    made: list[int] = []
    with Lanes() as lanes:
        for place, item in enumerate(lanes.begin("first", counted(made), 4)):
            assert item == place
            assert len(made) <= place + 1 + 4 + 1  # given, waiting, and the one being offered
            if place == 20:
                break
    assert running() == []


def test_lanes_work_at_the_same_time():
    """Three lanes that each take 20 ms for an item: together they take little more than one."""

    def slow(items: Iterable[int]) -> Iterator[int]:
        for item in items:
            time.sleep(0.02)
            yield item

    began = time.monotonic()
    with Lanes() as lanes:
        items: Iterable[int] = range(20)
        for name in ("one", "two", "three"):
            items = lanes.begin(name, slow(items), 2)
        assert list(items) == list(range(20))
    assert time.monotonic() - began < 3 * 20 * 0.02 * 0.8


def test_closing_interrupts_what_the_first_lane_waits_for():
    interrupted = threading.Event()

    def waiting() -> Iterator[int]:
        yield 1
        assert interrupted.wait(30)
        yield 2

    with Lanes(interrupted.set) as lanes:
        items = iter(lanes.begin("first", waiting(), 2))
        assert next(items) == 1
    assert running() == []
