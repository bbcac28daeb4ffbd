"""Pictures read before their turn: the same pages and problems as one at a time, only sooner."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from docpruner import Index
from docpruner.errors import PageError
from docpruner.pages import reader
from docpruner.pages.child import Child
from docpruner.pages.file_source import FileSource
from docpruner.pages.files import pictures_after
from docpruner.pages.reader import PageReader
from evaluate.copies import ColourEncoder
from pages.processes import children_of, proc, state_of, waited_for

WORDS = ("Aberdeen", "Bergen", "Calais", "Dublin", "Esbjerg")
PLENTY = 60.0  # seconds


@pytest.fixture(autouse=True)
def _installed():
    pytest.importorskip("rapidocr", reason="needs the ocr extra: pip install 'docpruner[ocr]'")


@pytest.fixture
def asked(monkeypatch) -> list[str]:
    """Names of the files that children are asked to open, in this order."""
    names: list[str] = []
    ask = Child.ask

    def spied(child, request):
        names.extend(Path(path).name for path in [request.get("open")] if path)
        ask(child, request)

    monkeypatch.setattr(Child, "ask", spied)
    return names


def picture(word: str) -> Image.Image:
    image = Image.new("L", (500, 100), 255)
    ImageDraw.Draw(image).text((60, 30), word, 0, ImageFont.load_default(size=36))
    return image


def pictures(folder: Path, *words: str) -> list[Path]:
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{word.lower()}.png" for word in words]
    for path, word in zip(paths, words, strict=True):
        picture(word).save(path)
    return paths


def some_bad(folder: Path) -> None:
    """Good pictures, and between them what kills its child, what is damaged, what is none."""
    pictures(folder, *WORDS)
    Image.new("1", (14_000, 14_000)).save(folder / "b-huge.png")  # 784 MB in RGB
    whole = (folder / "aberdeen.png").read_bytes()
    (folder / "c-cut.png").write_bytes(whole[: len(whole) // 2])
    (folder / "c-letter.jpg").write_bytes(b"Dear all,")
    frames = [picture("Falmouth"), picture("Gdansk")]
    frames[0].save(folder / "e-two.png", "TIFF", save_all=True, append_images=frames[1:])


def text_of(page) -> str:
    return str(page) if isinstance(page, PageError) else " ".join(w.text for w in page.words)


def read(source: FileSource) -> Iterator[tuple[str, object]]:
    for document in source.documents():
        try:
            for page in document.pages(range(1, document.count() + 1)):
                detail = page.reason if isinstance(page, PageError) else page.content_hash
                yield text_of(page), detail
        except PageError as problem:
            yield text_of(problem), problem.reason


@proc
def test_pictures_read_at_once_are_those_read_in_turn(tmp_path, monkeypatch):
    some_bad(tmp_path / "docs")
    monkeypatch.setattr(reader, "default_limit", lambda **_: 900 << 20)
    before, most, results = children_of(os.getpid()), {}, {}
    for count in (1, 2):
        monkeypatch.setattr(reader, "most_recognisers", lambda count=count: count)
        source = FileSource([tmp_path / "docs"], pixels=None, ocr=True)
        results[count] = []
        for told in read(source):
            results[count].append(told)
            most[count] = max(most.get(count, 0), len(children_of(os.getpid()) - before))
        source.close()
        assert children_of(os.getpid()) == before
    assert results[2] == results[1]
    folder = f"{tmp_path}/docs"
    assert [text for text, _ in results[2]] == [
        "Aberdeen",
        f"{folder}/b-huge.png#1: needs more than 900 MB of memory; make it smaller or simpler",
        "Bergen",
        f"{folder}/c-cut.png#1: is damaged or cut off; get a fresh copy",
        f"{folder}/c-letter.jpg: is not an image: it starts with 'Dear all,'; get a fresh copy",
        *("Calais", "Dublin", "Falmouth", "Gdansk", "Esbjerg"),
    ]
    assert most == {1: 1, 2: 2}


def test_nothing_is_read_that_nobody_opens(tmp_path, monkeypatch, asked):
    """After one that was passed over, nothing is read ahead until two in a row are opened."""
    monkeypatch.setattr(reader, "most_recognisers", lambda: 2)
    paths = pictures(tmp_path / "docs", *WORDS)
    source = FileSource([tmp_path / "docs"], pixels=None, ocr=True)
    documents = list(source.documents())
    assert asked == []
    for place in (0, 2, 4):
        assert [text_of(page) for page in documents[place].pages([1])] == [WORDS[place]]
    source.close()
    assert asked == [paths[place].name for place in (0, 1, 2, 4)]


def test_an_unchanged_folder_is_not_read_again(tmp_path, monkeypatch, asked):
    monkeypatch.setattr(reader, "most_recognisers", lambda: 2)
    paths = pictures(tmp_path / "docs", *WORDS[:3])
    with Index.create(None, encoder=ColourEncoder(), spec="none") as index:
        assert index.add(tmp_path / "docs", ocr=True).documents == {"added": 3}
        assert asked == [path.name for path in paths]
        assert index.add(tmp_path / "docs", ocr=True).documents == {"unchanged": 3}
        assert asked[3:] == []


def test_a_picture_changed_after_it_was_read_is_read_anew(tmp_path, monkeypatch, asked):
    monkeypatch.setattr(reader, "most_recognisers", lambda: 2)
    first, second, third = pictures(tmp_path, *WORDS[:3])
    with PageReader(pixels=None, ocr=True) as opened:
        assert opened.open(first, ahead=[second, third]) == 1
        assert asked == [first.name, second.name]
        picture("Gdansk").save(second)
        assert opened.open(second, ahead=[third]) == 1
        assert [text_of(page) for page in opened.pages([1])] == ["Gdansk"]
        assert asked[2:] == [second.name, third.name]
        assert opened.open(third) == 1
        assert [text_of(page) for page in opened.pages([1])] == [WORDS[2]]
        assert asked[4:] == []
        assert [page.render().size for page in opened.pages([1], pixels=5_000)] == [(158, 32)]


@proc
def test_one_that_hangs_costs_its_picture_and_closing_waits_for_none(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "most_recognisers", lambda: 2)
    a, b, c, d, e = pictures(tmp_path, *WORDS)
    before = children_of(os.getpid())
    with PageReader(pixels=None, ocr=True) as opened:
        opened.open(a, ahead=[b])
        first, second = (child.pid for child in opened._children)
        opened.open(b)
        os.kill(second, signal.SIGSTOP)
        opened.open(c, ahead=[d, e])
        monkeypatch.setattr(opened, "_seconds", 0.5)
        with pytest.raises(PageError, match=r"dublin\.png: took longer than 0.5 s to read"):
            opened.open(d, ahead=[e])
        monkeypatch.setattr(opened, "_seconds", PLENTY)
        opened.open(e)
        assert [text_of(page) for page in opened.pages([1])] == [WORDS[4]]
        os.kill(first, signal.SIGSTOP)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(opened.open, a, ahead=[b, c, d])
            assert waited_for(lambda: len(opened._children) == 2)
            opened.close()
            with pytest.raises(PageError, match=r"aberdeen\.png: wasn't read because reading was"):
                waiting.result(timeout=5)
    assert state_of(first) == state_of(second) == ""
    assert children_of(os.getpid()) == before


def test_only_pictures_of_one_page_that_follow_one_directly_are_read_ahead():
    files = [Path(name) for name in ("a.pdf", "b.PNG", "c.jpeg", "d.webp", "e.tiff", "f.jpg")]
    assert [list(pictures_after(files, place)) for place in range(6)] == [
        [],
        files[2:4],
        files[3:4],
        [],
        [],
        [],
    ]
