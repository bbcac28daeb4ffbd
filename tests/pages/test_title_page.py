"""Pages that come with the words of their document's first page."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from docpruner.pages.reader import PageReader, pages_of
from docpruner.types import Page
from pages.processes import children_of, proc, state_of, tasks_of, waited_for

REPORT = Path(__file__).parents[2] / "src" / "docpruner" / "samples" / "annual-report.pdf"


def read(numbers: list[int], **options) -> list[Page]:
    with PageReader(**{"pixels": None, "title_page": True} | options) as reader:
        reader.open(REPORT)
        return [page for page in reader.pages(numbers) if isinstance(page, Page)]


def test_every_page_but_the_first_has_the_words_of_the_first():
    first, second, third = read([1, 2, 3])
    assert first.title_page == ()
    assert first.words
    assert second.title_page == third.title_page == first.words


@pytest.mark.parametrize("numbers", [[3], [3, 1, 2], [2, 2]])
def test_the_first_page_is_read_unasked_and_not_given(numbers):
    whole = {page.number: page for page in read([1, 2, 3])}
    some = read(numbers)
    assert [page.number for page in some] == numbers
    for page in some:
        assert page.title_page == whole[page.number].title_page
        assert page.content_hash == whole[page.number].content_hash


def test_another_title_page_makes_another_page():
    (alone,) = read([2], title_page=False)
    (titled,) = read([2])
    assert alone.words == titled.words
    assert alone.title_page == ()
    assert alone.content_hash != titled.content_hash


def test_an_encoder_of_pictures_gets_none():
    assert all(page.title_page == () for page in read([1, 2], pixels=30_000))


def test_pages_in_one_call_have_it():
    first, second, *_ = pages_of(REPORT)
    assert second.title_page == first.words


@proc
def test_without_a_first_page_that_can_be_read_the_others_do_without():
    before = children_of(os.getpid())
    with PageReader(pixels=None, title_page=True) as reader:
        reader.open(REPORT)
        (child,) = children_of(os.getpid()) - before
        os.kill(child, signal.SIGKILL)
        assert waited_for(lambda: state_of(child) == "Z" and len(tasks_of(child)) == 1)
        found = list(reader.pages([2, 3]))
    assert [page.number for page in found] == [2, 3]
    assert all(page.title_page == () for page in found)
