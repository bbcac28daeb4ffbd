"""The small parts, each by itself."""

from __future__ import annotations

import re
import threading

import anyio
import pytest

from docpruner.errors import FilterError
from docpruner.search.filters import read_metadata, read_pages
from docpruner.web.error_responses import Refused
from docpruner.web.lru_cache import LruCache
from docpruner.web.names import document_id, short_names
from docpruner.web.pools import BoundedPool
from docpruner.web.server import hosts_for, is_loopback


def test_names_have_as_many_folders_as_they_need():
    paths = ["/a/x/one.pdf", "/a/y/one.pdf", "/b/y/one.pdf", "/a/x/two.pdf"]
    assert short_names(paths) == {
        "/a/x/one.pdf": "x/one.pdf",
        "/a/y/one.pdf": "a/y/one.pdf",
        "/b/y/one.pdf": "b/y/one.pdf",
        "/a/x/two.pdf": "two.pdf",
    }


def test_a_path_that_ends_as_another_does_has_a_name_too():
    names = short_names(["/one.pdf", "/a/one.pdf"])
    assert len(set(names.values())) == 2


def test_an_id_is_the_same_for_a_name_and_fits_an_address():
    assert document_id("/a/one.pdf") == document_id("/a/one.pdf") != document_id("/b/one.pdf")
    assert re.fullmatch("[0-9a-f]{16}", document_id("/not utf-8 \udcff.pdf"))


def test_what_was_not_asked_for_longest_goes_first():
    kept: LruCache[str, int] = LruCache(10)
    kept.put("a", 1, 4)
    kept.put("b", 2, 4)
    assert kept.get("a") == 1
    kept.put("c", 3, 4)
    assert [kept.get(key) for key in "abc"] == [1, None, 3]
    kept.put("huge", 4, 11)
    assert kept.get("huge") is None
    kept.put("a", 5, 6)
    assert [kept.get(key) for key in "ac"] == [5, 3]


@pytest.mark.parametrize(
    ("text", "pages"),
    [(None, None), ("7", (7, 7)), ("3-10", (3, 10)), ("3-", (3, None)), ("-10", (1, 10))],
)
def test_pages_are_read(text, pages):
    assert read_pages(text) == pages


def test_metadata_is_read():
    assert read_metadata(["a=b", "c = d=e"]) == {"a": "b", "c": "d=e"}
    assert read_metadata([]) is None
    with pytest.raises(FilterError, match="KEY=VALUE"):
        read_metadata(["=b"])


def test_a_pool_runs_a_few_and_refuses_too_many():
    pool = BoundedPool(threads=1, waiting=1)
    gate = threading.Event()
    refused = []

    async def ask() -> None:
        try:
            await pool.run(lambda: gate.wait(10))
        except Refused as refusal:
            refused.append(refusal.status_code)
            gate.set()

    async def all_three() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(ask)

    anyio.run(all_three)
    assert refused == [429]


def test_hosts_that_are_this_computer():
    assert all(map(is_loopback, ("127.0.0.1", "127.0.0.2", "::1", "[::1]", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "localhost.example")))
    assert "127.0.0.2" in (hosts_for("127.0.0.2") or ())
    assert hosts_for("0.0.0.0") is None
