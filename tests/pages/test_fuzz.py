"""Damaged files of all kinds: each gives pages or an entry of the report, and nothing else."""

from __future__ import annotations

import os
import random
import re
import time
from collections import Counter
from io import BytesIO
from pathlib import Path

import pytest
from fpdf import FPDF
from PIL import Image

from docpruner.errors import PageError
from docpruner.pages.reader import PageReader
from docpruner.types import Page
from pages.made import LINE, scan

ROUNDS = int(os.environ.get("DOCPRUNER_FUZZ", "300"))  # for PDFs; half as many for images
MOST_PAGES = 4  # of a file
SECONDS = 20.0  # a page may take
SAMPLES = Path(__file__).parents[2] / "src" / "docpruner" / "samples"
INTERESTING = (b"0", b"-1", b"1", b"99999", b"2147483647", b"4294967296", b"1e38", b"0.00001")


def small_pdf(*, compress: bool) -> bytes:
    document = FPDF(unit="pt", format=(200, 100))
    document.set_compression(compress)
    document.set_font("helvetica", size=12)
    for number in (1, 2, 3):
        document.add_page()
        document.text(20, 30, f"{LINE} {number}")
        document.rect(20, 40, 50, 30, style="F")
        document.add_link(page=1)
    document.image(scan().resize((100, 50)), x=100, y=40, w=80)
    return bytes(document.output())


def image(kind: str, mode: str) -> bytes:
    made = BytesIO()
    picture = scan().resize((120, 60)).convert(mode)
    more = {"save_all": True, "append_images": [picture] * 2} if kind == "TIFF" else {}
    picture.save(made, kind, **more)
    return made.getvalue()


def flipped(content: bytearray, dice: random.Random) -> bytearray:
    for _ in range(dice.choice((1, 1, 3, 10, 50))):
        content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
    return content


def cut(content: bytearray, dice: random.Random) -> bytearray:
    start, end = sorted(dice.randrange(len(content)) for _ in range(2))
    return dice.choice((content[:end], content[:start] + content[end:], content[start:]))


def doubled(content: bytearray, dice: random.Random) -> bytearray:
    start, to = dice.randrange(len(content)), dice.randrange(len(content))
    return content[:to] + content[start : start + dice.choice((4, 40, 400))] + content[to:]


def overwritten(content: bytearray, dice: random.Random) -> bytearray:
    start, size = dice.randrange(len(content)), dice.choice((1, 4, 16, 256))
    content[start : start + size] = dice.choice((bytes(size), b"\xff" * size, dice.randbytes(size)))
    return content


def renumbered(content: bytearray, dice: random.Random) -> bytearray:
    places = [match.span() for match in re.finditer(rb"\d+", content)]
    for start, end in sorted(dice.sample(places, min(len(places), 3)), reverse=True):
        content[start:end] = dice.choice(INTERESTING)
    return content


def swapped(content: bytearray, dice: random.Random) -> bytearray:
    """Names and words of a PDF change places: keys and operators in the wrong spot."""
    places = [match.span() for match in re.finditer(rb"/?[A-Za-z]{2,}", content)]
    if len(places) > 2:
        (a, b), (c, d) = sorted(dice.sample(places, 2))
        content[a:b], content[c:d] = content[c:d].ljust(b - a)[: b - a], content[a:b]
    return content


MUTATIONS = (flipped, cut, doubled, overwritten, renumbered, swapped)


def mutant(content: bytes, dice: random.Random) -> bytes:
    made = bytearray(content)
    for _ in range(dice.choice((1, 1, 2, 4))):
        made = dice.choice(MUTATIONS)(made, dice) or made
    return bytes(made)


def outcomes(reader: PageReader, path: Path) -> Counter[str]:
    """How the pages of a file fared; anything but pages and PageErrors goes through."""
    count = count_or_problem(reader, path)
    if isinstance(count, PageError):
        assert count.path == str(path)
        assert str(count).startswith(f"{path}: ")
        return Counter({"files refused": 1, "crashes": "crashed" in count.reason})
    assert count >= 1
    counts: Counter[str] = Counter()
    for number, page in enumerate(reader.pages(range(1, min(count, MOST_PAGES) + 1)), 1):
        if isinstance(page, Page):
            counts["pages"] += 1
            assert page.number == number
            check_page(page)
        else:
            counts["pages refused"] += 1
            counts["crashes"] += "crashed" in page.reason
            assert (page.path, page.page) == (str(path), number)
            assert str(page).startswith(f"{path}#{number}: ")
    assert counts["pages"] + counts["pages refused"] == min(count, MOST_PAGES)
    return counts


def count_or_problem(reader: PageReader, path: Path) -> int | PageError:
    try:
        return reader.open(path)
    except PageError as problem:
        return problem


def check_page(page: Page) -> None:
    """What encoders rely on, whatever the file claims."""
    assert min(page.size) > 0
    assert max(page.size) <= 1e9
    width, height = page.render().size
    assert 1 <= width * height <= 30_000
    for word in page.words:
        x0, y0, x1, y1 = word.box
        assert word.text
        assert 0 <= x0 <= x1 <= 1, word
        assert 0 <= y0 <= y1 <= 1, word


def memory() -> int:
    """Bytes that this process has in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def try_mutants(sources: dict[str, bytes], rounds: int, folder: Path, seed: int) -> str:
    counts: Counter[str] = Counter()
    names = sorted(sources)
    slowest, before = 0.0, 0
    measured = Path("/proc/self/statm").exists()
    with PageReader(pixels=20_000, seconds=SECONDS, memory=1 << 30) as reader:
        for number in range(rounds):
            name = names[number % len(names)]
            path = folder / f"{number}{Path(name).suffix}"
            path.write_bytes(mutant(sources[name], random.Random(f"{seed} {number}")))
            began = time.monotonic()
            try:
                counts += outcomes(reader, path)
            except Exception as error:
                error.add_note(f"mutant {number} of {name}, seed {seed}")
                raise
            slowest = max(slowest, time.monotonic() - began)
            path.unlink()
            if measured and number == rounds // 3:
                before = memory()
    if measured:
        assert memory() - before < 32 << 20
    summary = ", ".join(f"{number} {what}" for what, number in counts.items() if number)
    assert counts["pages"] > rounds / 4  # else too little is left of them to test anything
    assert counts["pages refused"] + counts["files refused"] > rounds / 20
    return f"{rounds} files: {summary}; the slowest took {slowest:.1f} s"


def test_damaged_pdfs_give_pages_or_entries(tmp_path, record_property):
    sources = {path.name: path.read_bytes() for path in SAMPLES.glob("*.pdf")}
    sources |= {f"small{n}.pdf": small_pdf(compress=n % 2 == 0) for n in range(4)}
    record_property("tried", try_mutants(sources, ROUNDS, tmp_path, seed=1))


def test_damaged_images_give_pages_or_entries(tmp_path, record_property):
    kinds = (
        *(("PNG", "RGB"), ("PNG", "P"), ("PNG", "1"), ("JPEG", "RGB"), ("JPEG", "L")),
        *(("TIFF", "RGB"), ("TIFF", "1"), ("WEBP", "RGB"), ("WEBP", "RGBA")),
    )
    sources = {f"{mode}.{kind.lower()}": image(kind, mode) for kind, mode in kinds}
    assert len(sources) == len(kinds)
    record_property("tried", try_mutants(sources, ROUNDS // 2, tmp_path, seed=2))


def test_the_files_that_are_damaged_are_good_ones(tmp_path):
    for compress in (False, True):
        (tmp_path / "a.pdf").write_bytes(small_pdf(compress=compress))
        with PageReader(pixels=20_000) as reader:
            assert outcomes(reader, tmp_path / "a.pdf") == {"pages": 3}
    (tmp_path / "a.tiff").write_bytes(image("TIFF", "RGB"))
    with PageReader(pixels=20_000) as reader:
        assert outcomes(reader, tmp_path / "a.tiff") == {"pages": 3}
    assert Image.open(BytesIO(image("PNG", "P"))).mode == "P"


def test_the_same_seed_gives_the_same_file():
    content = small_pdf(compress=False)
    once, again = (mutant(content, random.Random("1 5")) for _ in range(2))
    assert once == again != content


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_every_mutation_changes_a_file(mutation):
    content = small_pdf(compress=False)
    made = [bytes(mutation(bytearray(content), random.Random(seed))) for seed in range(5)]
    assert any(one != content for one in made)
