"""Every route answers as it is described, over an index of the sample documents."""

from __future__ import annotations

import io
import json
import re
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from docpruner.explain import matched_words
from docpruner.facade import Index
from docpruner.web.names import document_id
from web.conftest import SAMPLES

REPORT, UNKNOWN = document_id(str(SAMPLES / "annual-report.pdf")), "0123456789abcdef"

LOOKS = [
    "/",
    "/api/health",
    "/api/stats",
    "/api/documents",
    "/api/search?q=dividend",
    f"/api/pages/{REPORT}/3",
    f"/api/pages/{REPORT}/3/words",
    f"/api/pages/{REPORT}/3/reduction?spec=docpruner:k=0.5",
    "/api/whatif?spec=docpruner:k=0.5",
    "/api/budget",
    "/api/openapi.json",
]
WRONG = [
    ("/api/nothing", 404, "not_found"),
    ("/nothing", 404, "not_found"),
    ("/static/nothing.js", 404, "not_found"),
    (f"/api/pages/{UNKNOWN}/1", 404, "not_found"),
    (f"/api/pages/{REPORT}/999", 404, "not_found"),
    (f"/api/pages/{REPORT}/999/image", 404, "not_found"),
    (f"/api/pages/{REPORT}/999/hit?q=a", 404, "not_found"),
    (f"/api/pages/{REPORT}/999/words", 404, "not_found"),
    (f"/api/pages/{REPORT}/3/hit", 422, "invalid"),
    (f"/api/pages/{REPORT}/3/hit?q=%20", 422, "invalid"),
    (f"/api/pages/{REPORT}/999/original", 404, "not_found"),
    ("/api/pages/x/1", 422, "invalid"),
    ("/api/pages/1/1", 422, "invalid"),
    (f"/api/pages/{REPORT}/99999999999999999999", 422, "invalid"),
    ("/api/jobs/none", 404, "not_found"),
    ("/api/search", 422, "invalid"),
    ("/api/search?q=", 422, "invalid"),
    ("/api/search?q=%20", 422, "invalid"),
    (f"/api/search?q={'x' * 1001}", 422, "invalid"),
    (f"/api/search?q={'x' * 60_000}", 422, "invalid"),
    ("/api/search?q=a&k=0", 422, "invalid"),
    ("/api/search?q=a&k=101", 422, "invalid"),
    ("/api/search?q=a&mode=both", 422, "invalid"),
    ("/api/search?q=a&pages=b", 422, "invalid"),
    ("/api/search?q=a&pages=9-3", 422, "invalid"),
    ("/api/search?q=a&metadata=year", 422, "invalid"),
    (f"/api/pages/{REPORT}/1/image?width=63", 422, "invalid"),
    (f"/api/pages/{REPORT}/1/image?width=2001", 422, "invalid"),
    (f"/api/pages/{REPORT}/1/image?overlay=other", 422, "invalid"),
    (f"/api/pages/{REPORT}/1/image?overlay=match", 422, "invalid"),
    (f"/api/pages/{REPORT}/1/image?overlay=match&q=one+two&word=2", 422, "invalid"),
    ("/api/whatif?spec=nothing", 422, "invalid"),
    ("/api/whatif?spec=sem-cluster", 422, "invalid"),
    ("/api/whatif?spec=docpruner:k=0.5%2Bpool-1d", 422, "invalid"),
    (f"/api/pages/{REPORT}/3/reduction?spec=pivot-threshold", 422, "invalid"),
]


@pytest.fixture(scope="module")
def index(samples_index):
    with Index.open(samples_index) as opened:
        yield opened


@pytest.fixture(scope="module")
def ids(server):
    return server.ids()


def test_health_says_the_version(server):
    assert server.get("/api/health").json() == {"status": "ok", "version": version("docpruner")}


def test_stats_are_those_of_the_index(server, index):
    answer, stats = server.get("/api/stats").json(), index.stats()
    assert answer["name"] == "samples.idx"
    assert answer["settings"]["encoder"] == "builtin-v2"
    assert answer["row_bytes"] == 66
    assert answer["changes_allowed"] is False
    for name in ("documents", "pages", "vectors", "vectors_unpruned", "pruned_histogram", "pruned"):
        assert answer[name] == getattr(stats, name)


def test_documents_are_called_by_their_names(server):
    listed = server.get("/api/documents").json()["documents"]
    assert {d["name"]: d["pages"] for d in listed}["annual-report.pdf"] == 13
    assert len(listed) == 6
    assert all(d["metadata"] == {"year": "2024"} for d in listed)


def test_a_search_gives_the_hits_of_the_index(server, index, ids):
    query = "In which part of the world did sales go down?"
    answer = server.get("/api/search", params={"q": query, "k": 3}).json()
    hits = index.search(query, 3)
    assert answer["query"] == query
    assert answer["milliseconds"] > 0
    assert [hit["rank"] for hit in answer["hits"]] == [1, 2, 3]
    listed = [(hit["name"], hit["page"], hit["score"]) for hit in answer["hits"]]
    assert listed == [(Path(h.document).name, h.page, round(h.score, 4)) for h in hits]
    first = answer["hits"][0]
    assert first["document"] == ids["annual-report.pdf"]
    said = [(each["query"], each["page"]) for each in first["matched"]]
    assert said == matched_words(hits[0])
    assert "sales" in dict(said)
    assert [match["word"] for match in first["matches"]] == [m.word for m in hits[0].matches]
    boxes = [match["boxes"] for match in first["matches"]]
    for box, match in zip(boxes, hits[0].matches, strict=True):
        assert np.allclose(box, match.boxes, atol=1e-4)


def test_a_snippet_is_the_text_around_what_matches(server):
    query = "Which part of Europe shrank for the second year?"
    (hit,) = server.get("/api/search", params={"q": query, "k": 1}).json()["hits"]
    assert "Southern Europe shrank for the second year" in hit["snippet"]
    assert len(hit["snippet"]) <= 140 + len("… ") + len(" …")
    marked = [hit["snippet"][first:last] for first, last in hit["marks"]]
    assert marked
    assert set(marked) <= set(hit["snippet"].split())


@pytest.mark.parametrize("mode", ["vectors", "text", "hybrid"])
def test_a_search_goes_by_vectors_text_or_both(server, index, mode):
    query = "turbidity meter dividend"
    answer = server.get("/api/search", params={"q": query, "mode": mode}).json()
    assert answer["mode"] == mode
    hits = index.search(query, mode=mode)
    listed = [(hit["name"], hit["page"], hit["score"]) for hit in answer["hits"]]
    assert listed == [(Path(h.document).name, h.page, round(h.score, 4)) for h in hits]
    assert "dividend" in " ".join(hit["snippet"].lower() for hit in answer["hits"])


def test_snippets_need_no_file(server, monkeypatch):
    def read(*_):
        raise AssertionError("a file was read")

    monkeypatch.setattr("docpruner.web.readers.ReaderPool.pages", read)
    answer = server.get("/api/search", params={"q": "dividend per share", "k": 3}).json()
    assert all(hit["snippet"] for hit in answer["hits"])


@pytest.mark.parametrize(
    ("query", "nothing"), [("the of and", True), ("!!!", True), ("dividend", False)]
)
def test_a_search_says_if_nothing_really_matches(server, query, nothing):
    answer = server.get("/api/search", params={"q": query}).json()
    assert answer["nothing_matches"] is nothing
    assert answer["hits"]


def test_a_search_without_words_has_the_same_hits(server):
    query = {"q": "electricity of the islands", "k": 5}
    whole = server.get("/api/search", params=query).json()["hits"]
    quick = server.get("/api/search", params=query | {"words": "false"}).json()["hits"]
    assert all(hit["matched"] for hit in whole)
    assert quick == [hit | {"matched": [], "snippet": "", "marks": []} for hit in whole]


def test_a_page_answers_a_query_also_if_it_is_not_among_the_best(server, index, ids):
    document = ids["travel-expense-form.pdf"]
    answer = server.get(f"/api/pages/{document}/1/hit", params={"q": "dividend growth"}).json()
    hit = index.hit("dividend growth", str(SAMPLES / "travel-expense-form.pdf"), 1)
    assert (answer["document"], answer["page"]) == (document, 1)
    assert answer["score"] == round(hit.score, 4)
    assert [match["word"] for match in answer["matches"]] == ["dividend", "growth"]


@pytest.mark.parametrize(
    ("filters", "allowed"),
    [
        ({"document": "*slides*"}, lambda hit: "slides" in hit["name"]),
        ({"pages": "2-3"}, lambda hit: hit["page"] in (2, 3)),
        ({"pages": "4"}, lambda hit: hit["page"] == 4),
        ({"pages": "8-"}, lambda hit: hit["page"] >= 8),
        ({"metadata": ["year=2024", "a=b"]}, lambda _: False),
        ({"metadata": "year=2024"}, lambda _: True),
    ],
)
def test_a_search_can_be_narrowed(server, filters, allowed):
    hits = server.get("/api/search", params={"q": "revenue", "k": 50, **filters}).json()["hits"]
    assert all(map(allowed, hits))
    assert bool(hits) is ("a=b" not in filters.get("metadata", ()))


def test_a_page_tells_what_was_kept_of_it(server, index, ids):
    answer = server.get(f"/api/pages/{ids['annual-report.pdf']}/3").json()
    stored = index.page(str(SAMPLES / "annual-report.pdf"), 3)
    assert (answer["name"], answer["page"], answer["pages"]) == ("annual-report.pdf", 3, 13)
    assert answer["width"] == pytest.approx(595, abs=1)
    assert answer["words_from"] == "text layer"
    assert answer["patches"] == len(answer["boxes"]) == len(answer["kept"]) == stored.patches
    assert answer["kept_vectors"] == len(stored.vectors) == sum(answer["kept"]) + stored.special
    assert np.allclose(answer["boxes"], stored.provenance.patch_boxes, atol=1e-4)
    importance = np.array(answer["importance"])
    assert answer["mean"] == pytest.approx(importance.mean(), rel=1e-3)
    assert answer["std"] == pytest.approx(importance.std(), rel=1e-3)
    assert answer["threshold"] == pytest.approx(answer["mean"] - 0.25 * answer["std"])
    assert answer["kept"] == (importance > answer["threshold"]).astype(int).tolist()
    assert 0 < answer["entropy"] < np.log(answer["patches"])


@pytest.mark.parametrize(
    "spec", ["docpruner:k=0.5", "attention-ratio:ratio=0.7", "random:ratio=0.5"]
)
def test_a_reduction_keeps_as_many_as_it_says(server, index, ids, spec):
    page = f"/api/pages/{ids['annual-report.pdf']}/3"
    answer = server.get(f"{page}/reduction", params={"spec": spec}).json()
    patches = server.get(page).json()["patches"]
    assert answer["spec"].startswith(spec)
    assert len(answer["kept"]) == patches
    special = index.page(str(SAMPLES / "annual-report.pdf"), 3).special
    assert answer["vectors"] == sum(answer["kept"]) + special
    assert answer["bytes"] == 66 * answer["vectors"]
    assert (answer["threshold"] is not None) is spec.startswith("docpruner")


def test_a_reduction_by_the_spec_of_the_index_is_what_is_stored(server, ids):
    page = f"/api/pages/{ids['product-launch-slides.pdf']}/2"
    answer = server.get(f"{page}/reduction", params={"spec": "docpruner:k=-0.25"}).json()
    assert answer["kept"] == server.get(page).json()["kept"]


def test_what_if_agrees_with_the_index_and_with_pruning_it(server, index):
    stats = index.stats()
    same = server.get("/api/whatif", params={"spec": stats.settings.spec}).json()
    assert (same["pages"], same["vectors"]) == (stats.pages, stats.vectors)
    assert same["vectors_unpruned"] == stats.vectors_unpruned
    assert same["bytes"] == stats.bytes_of_vectors
    assert same["bytes_unpruned_float16"] == stats.bytes_unpruned_float16
    assert same["pruned"] == pytest.approx(stats.pruned)
    assert same["histogram"] == stats.pruned_histogram
    stricter = server.get("/api/whatif", params={"spec": "docpruner:k=1"}).json()
    assert stricter["vectors"] == index.prune("docpruner:k=1", dry_run=True).after
    looser = server.get("/api/whatif", params={"spec": "docpruner:k=-1"}).json()
    assert stats.vectors < looser["vectors"] <= stats.vectors_unpruned


def test_the_choices_of_a_budget_are_those_of_the_index(server, index):
    answer = server.get("/api/budget").json()
    wanted = [asdict(choice) for choice in index.budget_choices()]
    assert answer["choices"] == [
        {name: value for name, value in choice.items() if name != "fits"} for choice in wanted
    ]
    assert answer["choices"][0]["codec"] == "int2"
    assert answer["budget"] == ""
    assert server.get("/api/stats").json()["settings"]["budget"] == ""


@pytest.mark.parametrize("width", [64, 300, 900, 2000])
def test_a_page_is_drawn_as_wide_as_asked(server, ids, width):
    answer = server.get(f"/api/pages/{ids['annual-report.pdf']}/1/image", params={"width": width})
    assert answer.headers["content-type"] == "image/webp"
    picture = Image.open(io.BytesIO(answer.content))
    assert picture.width == width
    assert picture.height / picture.width == pytest.approx(842 / 595, rel=0.02)


def test_a_scan_is_drawn_too(server, ids):
    answer = server.get(f"/api/pages/{ids['landlord-letter-scan.tiff']}/2/image?width=200")
    assert Image.open(io.BytesIO(answer.content)).width == 200


def test_a_picture_is_not_sent_twice(server, ids):
    path = f"/api/pages/{ids['annual-report.pdf']}/2/image?width=200"
    first = server.get(path)
    assert first.headers["cache-control"] == "private, no-cache"
    again = server.get(path, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert server.get(path).content == first.content
    assert server.get(path.replace("200", "201")).headers["etag"] != first.headers["etag"]


@pytest.mark.parametrize(
    "overlay",
    ["overlay=kept", "overlay=match&q=dividend+growth", "overlay=match&q=dividend+growth&word=1"],
)
def test_overlays_change_the_picture(server, ids, overlay):
    page = f"/api/pages/{ids['annual-report.pdf']}/3/image"
    plain, lit = (server.get(f"{page}?{part}") for part in ("width=600", f"width=600&{overlay}"))
    assert lit.status_code == 200
    assert lit.headers["etag"] != plain.headers["etag"]
    assert lit.content != plain.content


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("annual-report.pdf", "application/pdf"),
        ("site-plan.png", "image/png"),
        ("landlord-letter-scan.tiff", "image/tiff"),
    ],
)
def test_the_original_is_the_file(server, ids, name, kind):
    answer = server.get(f"/api/pages/{ids[name]}/1/original")
    assert answer.content == (SAMPLES / name).read_bytes()
    assert answer.headers["content-type"] == kind
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert "sandbox" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(("path", "status", "code"), WRONG)
def test_errors_have_one_shape(server, path, status, code):
    answer = server.get(path)
    assert answer.status_code == status
    assert answer.json()["error"]["code"] == code
    assert len(answer.json()["error"]["message"]) > 10


def test_other_methods_are_refused(server):
    for method, status, code in [("PUT", 403, "forbidden"), ("HEAD", 405, ""), ("TRACE", 403, "")]:
        answer = server.client.request(method, "/api/stats")
        assert answer.status_code == status
        assert not code or answer.json()["error"]["code"] == code


def test_the_page_and_its_files_are_served(server):
    page = server.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    for name in re.findall(r'static/([\w.-]+)"', page.text):
        assert server.get(f"/static/{name}").status_code == 200


@pytest.mark.parametrize(
    "path", [*LOOKS, "/api/nothing", "/api/search", f"/api/pages/{REPORT}/1/image"]
)
def test_every_answer_has_the_headers(server, path):
    headers = server.get(path).headers
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "set-cookie" not in headers
    assert "server" not in headers


@pytest.mark.parametrize("path", LOOKS + [path for path, _, _ in WRONG])
def test_no_answer_tells_where_things_lie(server, samples_index, path):
    text = server.get(path).text
    assert str(SAMPLES) not in text
    assert str(samples_index.parent) not in text
    assert "Traceback" not in text


def test_the_openapi_document_describes_every_route(server):
    described = json.loads(server.get("/api/openapi.json").text)["paths"]
    assert set(described) == {
        "/api/health", "/api/stats", "/api/documents", "/api/documents/{document}", "/api/search",
        "/api/search/image", "/api/pages/{document}/{number}/words",
        "/api/pages/{document}/{number}", "/api/pages/{document}/{number}/hit",
        "/api/pages/{document}/{number}/image",
        "/api/pages/{document}/{number}/original", "/api/pages/{document}/{number}/reduction",
        "/api/whatif", "/api/budget", "/api/jobs/{job}",
    }  # fmt: skip
