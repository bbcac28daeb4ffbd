"""Searches while documents come in, and an end in the midst of it."""

from __future__ import annotations

import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import httpx

from docpruner.facade import Index
from faults.library import pdf
from web.running import served, served_words


def test_fifty_searches_while_a_document_is_added(samples_index, tmp_path):
    """By the built-in encoder: all are answered, each with pages of one moment, and the pages that
    were there all along keep their scores."""
    folder = tmp_path / "copy.idx"
    shutil.copytree(samples_index, folder)
    query = {"q": "How is tidal energy turned into electricity?", "k": 50}
    options = ("--allow-changes", "--no-token", "--uploads", str(tmp_path / "in"))
    with served(folder, *options) as running:
        before = running.get("/api/search", params=query).json()["hits"]
        scores = {(hit["document"], hit["page"]): hit["score"] for hit in before}
        new = running.upload(("new.pdf", pdf("new", 40, words=60)))
        with (
            httpx.Client(base_url=running.url, timeout=60) as client,
            ThreadPoolExecutor(50) as pool,
        ):
            began = time.monotonic()
            work = [pool.submit(client.get, "/api/search", params=query) for _ in range(50)]
            health = client.get("/api/health")
            alive = time.monotonic() - began
            answers = [future.result() for future in work]
        assert health.status_code == 200
        assert alive < 10
        for answer in answers:
            assert answer.status_code == 200
            hits = answer.json()["hits"]
            assert [hit["score"] for hit in hits] == sorted(
                (h["score"] for h in hits), reverse=True
            )
            now = {(hit["document"], hit["page"]): hit["score"] for hit in hits}
            assert len(now) == len(hits) >= min(len(before), 50)
            assert all(now[place] == score for place, score in scores.items() if place in now)
        assert running.finished(new.json()["job"])["state"] == "done"
        assert running.get("/api/stats").json()["pages"] == 32 + 40


def test_an_end_during_an_upload_loses_nothing(words_index):
    with served_words(words_index, "--allow-changes", "--seconds", "0.1") as running:
        job = running.upload(("long.pdf", pdf("long", 200))).json()["job"]
        waiting = running.upload(("next.pdf", pdf("next", 1)))
        assert waiting.status_code == 202
        while (state := running.get(f"/api/jobs/{job}").json())["pages"] < 8:
            assert state["state"] == "running"
            time.sleep(0.02)
        began = time.monotonic()
        code, errors = running.stop(signal.SIGTERM)
        assert (code, errors) == (0, "")
        assert time.monotonic() - began < 15
    with Index.open(words_index) as index:
        assert index.verify() == []
        stats = index.stats()
        assert state["pages"] <= stats.pages - 4 < 200
    uploads = words_index.parent / "words.idx-uploads"
    assert sorted(path.name for path in uploads.iterdir()) == ["long.pdf", "next.pdf"]


def test_an_end_while_nothing_happens_is_quick(words_index):
    running = served_words(words_index)
    assert running.get("/api/search?q=harbour").status_code == 200
    began = time.monotonic()
    assert running.stop() == (0, "")
    assert time.monotonic() - began < 5


def test_slow_work_does_not_stop_the_rest(words_index):
    """More pictures than are drawn at a time; looks are answered meanwhile."""
    with served_words(words_index) as running, ThreadPoolExecutor(20) as pool:
        client = running.client
        document = running.ids()["library/harbour.pdf"]
        paths = [f"/api/pages/{document}/1/image?width={width}" for width in range(1000, 1020)]
        work = [pool.submit(client.get, path) for path in paths]
        began = time.monotonic()
        assert client.get("/api/health").status_code == 200
        assert client.get("/api/documents").status_code == 200
        assert time.monotonic() - began < 5
        assert {future.result().status_code for future in work} == {200}
