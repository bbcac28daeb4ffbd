"""Pictures as queries of the server: in the API, by the client, and dropped on the page."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from docpruner.client import Client
from docpruner.errors import ServerError
from docpruner.facade import Index
from web.browsing import Site, Visit, chromium, expect
from web.looks import ColourEncoder
from web.running import Server

PATH = "/api/search/image"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three pictures, and an index of them by an encoder that sees colours."""
    folder = tmp_path_factory.mktemp("looks")
    for colour in ("red", "green", "blue"):
        Image.new("RGB", (200, 100), colour).save(folder / f"{colour}.png")
    with Index.create(folder / "looks.idx", encoder=ColourEncoder(), spec="none") as index:
        index.add(folder, metadata={"kind": "plain"})
    return folder


@pytest.fixture(scope="module")
def looking(folder: Path) -> Iterator[Server]:
    with Server(["-m", "web.looks_server", str(folder / "looks.idx")]) as running:
        yield running


def packed(kind: str, colour: str = "blue") -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (60, 30), colour).save(stream, kind)
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "WEBP"])
def test_pages_like_a_picture_come_first(looking, kind):
    answer = looking.client.post(PATH, content=packed(kind), params={"k": 2})
    assert answer.status_code == 200
    told = answer.json()
    assert told["hits"][0]["name"] == "blue.png"
    assert (len(told["hits"]), told["query"]) == (2, "")
    assert len(told["hits"][0]["matches"]) == 16  # one for each vector of the picture
    assert looking.get("/api/stats").json()["searches_pictures"] is True


def test_the_client_finds_what_the_index_finds(looking, folder):
    client, crop = Client(looking.url), Image.new("RGBA", (5000, 20), "green")
    with Index.open(folder / "looks.idx", encoder=ColourEncoder()) as index:
        own = index.search(image=crop)
    found = client.search(image=crop)
    assert [hit.document for hit in found] == [Path(hit.document).name for hit in own]
    assert found[0].score == pytest.approx(own[0].score, abs=1e-3)
    assert found[0].image(64).getpixel((5, 5))[1] > 100
    assert client.search(image=crop, documents="red*")[0].document == "red.png"
    assert client.search(image=crop, metadata={"kind": "other"}) == []


BOMB_SIDE = 60_000


def bomb() -> bytes:
    """A PNG of 3.6 billion pixels in a few bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data).to_bytes(4, "big")
        return len(data).to_bytes(4, "big") + kind + data + check

    header = BOMB_SIDE.to_bytes(4, "big") * 2 + b"\x08\x02\0\0\0"
    whole = (
        chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
    )
    return b"\x89PNG\r\n\x1a\n" + whole


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"", "no picture; send the bytes of one as the body"),
        (b"hello", "the picture is not an image: it starts with"),
        (b"%PDF-1.7\n", "the picture is not an image: it looks like a PDF"),
        (packed("PNG")[:60], "the picture is damaged or cut off; get a fresh copy"),
        (bomb(), "the picture is too large (60000×60000 pixels)"),
    ],
)
def test_what_is_no_picture_is_refused_with_a_reason(looking, sent, said):
    answer = looking.client.post(PATH, content=sent)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid")
    assert said in answer.json()["error"]["message"]
    assert "/tmp" not in answer.text
    assert looking.client.post(PATH, content=packed("PNG")).status_code == 200  # and it goes on


def test_no_more_than_a_picture_is_taken_in(looking):
    large = looking.client.post(PATH, content=b"x" * (21 << 20))
    assert (large.status_code, large.json()["error"]["code"]) == (413, "too_large")
    elsewhere = {"Origin": "https://evil.example"}
    assert looking.client.post(PATH, content=packed("PNG"), headers=elsewhere).status_code == 403
    assert looking.client.put(PATH, content=packed("PNG")).status_code == 403
    for wrong in ({"k": 0}, {"pages": "9-3"}):
        answer = looking.client.post(PATH, content=packed("PNG"), params=wrong)
        assert answer.status_code == 422
    with pytest.raises(ServerError, match="less than or equal to 100"):
        Client(looking.url).search(image=Image.new("RGB", (4, 4)), k=101)


# ------------------------------------------------------------------ the page

DROP = """
async ([bytes, name]) => {
  const file = new File([new Uint8Array(bytes)], name, { type: "image/png" });
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(file);
  const options = { dataTransfer, bubbles: true, cancelable: true };
  document.getElementById("hits").dispatchEvent(new DragEvent("drop", options));
}
"""


def drop(page, colour, name="crop.png"):
    page.evaluate(DROP, [list(packed("PNG", colour)), name])


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


def first(page):
    return page.locator("#hits .hit-name").first


def test_a_picture_dropped_on_the_page_is_searched_by(browser, looking):
    visit = Visit.begin(browser, Site(looking))
    page = visit.page
    page.goto(f"{looking.url}/")
    expect(page.locator("#by-picture")).to_be_visible()
    drop(page, "blue")
    expect(first(page)).to_have_text("blue.png")
    expect(page.locator("#search-summary")).to_have_text(
        re.compile("^3 pages, most like the picture first")
    )
    expect(page.locator("#picture-shown")).to_have_text("crop.png")
    expect(page.locator("#picture-shown img")).to_be_visible()
    drop(page, "red")  # another picture of the same name
    expect(first(page)).to_have_text("red.png")
    first(page).click()
    expect(page.locator("#page-name")).to_have_text("red.png")
    expect(page.locator("#back")).to_have_text("← Results")
    page.click("#back")
    expect(first(page)).to_have_text("red.png")
    page.set_input_files(
        "#picture", {"name": "g.png", "mimeType": "image/png", "buffer": packed("PNG", "green")}
    )
    expect(first(page)).to_have_text("green.png")
    page.reload()
    expect(page.locator("#search-trouble")).to_contain_text("The picture is no longer here.")
    page.click("#forget-picture")
    expect(page.locator("#picture-asked")).to_be_hidden()
    expect(page.locator("#cover-list a").first).to_be_visible()
    visit.end()


def test_a_picture_that_can_t_be_searched_by_says_why(browser, server):
    visit = Visit.begin(browser, Site(server))
    page = visit.page
    page.goto(f"{server.url}/")
    expect(page.locator("#cover-list a").first).to_be_visible()
    expect(page.locator("#by-picture")).to_be_hidden()
    drop(page, "blue")
    expect(page.locator("#search-trouble")).to_contain_text("sees no pictures")
    visit.wrong = [text for text in visit.wrong if "422" not in text]  # Chromium tells it too
    visit.end()
