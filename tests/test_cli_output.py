"""What comes from outside is printed as it is, but never obeyed by the terminal; and printing works
whatever the terminal is."""

from __future__ import annotations

import io
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.text import Text

from cli_process import docpruner, write_pdf
from docpruner.cli import main
from docpruner.cli.output import console, plain, styled
from docpruner.cli.picture_files import file_stem
from docpruner.errors import PageError
from docpruner.facade import Index
from docpruner.outside_text import visible
from docpruner.types import Page, Word

CONTROLS = [*map(chr, range(1, 32)), "\x7f", *map(chr, range(0x80, 0xA0))]
TURNS = [*"\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029"]
HOSTILE = {*CONTROLS, *TURNS} - {"\n"}
TRICKS = [
    *("\x1b[31m", "\x1b[2J", "\x1b]0;title\x07", "\x1b]8;;http://x.example\x1b\\", "\x9b31m"),
    *("[bold]", "[/]", "[/bold]", "[link=http://x.example]", ":smile:", ":warning:", "[", "]"),
    *("\\", "\\\\", "{}", "{0}", "%s", "\u202egpj.exe\u202c", "日本", "é", "\r", "\n", "\t"),
]


def hostile(rng: random.Random, length: int = 6) -> str:
    """A name or a word that tries to be more than that."""
    parts = [rng.choice([*TRICKS, *CONTROLS, *TURNS, "a", "report"]) for _ in range(length)]
    return f"x{''.join(parts)}y".replace("/", "|")


def run(*arguments: str, columns: int = 3000) -> tuple[int, str, str]:
    """The command in this process: its exit status and what it prints."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["docpruner", *arguments])
        patch.setenv("COLUMNS", str(columns))
        patch.delenv("FORCE_COLOR", raising=False)
        with pytest.raises(SystemExit) as ended:
            main()
    printed = []
    for stream in (out, err):
        stream.flush()
        printed.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
    code = ended.value.code
    return code if isinstance(code, int) else int(bool(code)), printed[0], printed[1]


# ------------------------------------------------------------------ the parts


@pytest.mark.parametrize("seed", range(200))
def test_styled_text_is_the_values_themselves_but_for_their_codes(seed):
    one, two = (hostile(random.Random(2 * seed + n)) for n in range(2))
    text = styled("[bold]{}[/]: [dim]{}[/]", one, two)
    assert text.plain == f"{visible(one)}: {visible(two)}"
    assert [(span.start, span.end, span.style) for span in text.spans] == [
        (0, len(visible(one)), "bold"),
        (len(visible(one)) + 2, len(text.plain), "dim"),
    ]
    assert not HOSTILE & set(text.plain)
    assert "\n" not in text.plain


def test_codes_are_shown_and_all_else_stays():
    assert visible("a\x1b[31m\x9b\u202e\n") == "a\\x1b[31m\\x9b\\u202e\\x0a"
    assert visible("déjà 日本 \U0001f600 \u200d \\n") == "déjà 日本 \U0001f600 \u200d \\n"
    for sign in HOSTILE:
        assert re.fullmatch(r"\\x[0-9a-f]{2}|\\u[0-9a-f]{4}", visible(sign))


def test_a_console_shows_codes_of_strings_and_cells_too(capsys):
    """Whoever prints in another way than by `plain` and `styled`."""
    console().print("[bold]\x1b]0;x\x07 :smile:[/]\n\u202ez")
    assert capsys.readouterr().out == "\\x1b]0;x\\x07 :smile:\n\\u202ez\n"


def test_a_file_named_after_a_document_has_a_plain_and_short_name():
    assert file_stem("/a/b\x1b[31m\n.pdf") == "b_x1b[31m_x0a"
    assert len((file_stem("日" * 300 + ".pdf") + "-p1-match-10.png").encode()) < 255
    assert file_stem("/") == "page"
    assert plain("[bold]").plain == "[bold]"
    assert isinstance(plain("x"), Text)


# ------------------------------------------------------------------ through every command


@dataclass(frozen=True)
class Scan:
    """A document of one page whose words OCR has recognised, as far as the index knows."""

    name: str
    texts: Sequence[str]
    content_hash: bytes = b"scan"
    bytes: int = 1

    def count(self) -> int:
        return 1

    def pages(self, numbers: Sequence[int]) -> Iterator[Page]:
        boxes = [(0.1, 0.04 * row, 0.5, 0.04 * row + 0.03) for row in range(len(self.texts))]
        words = tuple(Word(text, box) for text, box in zip(self.texts, boxes, strict=True))
        for number in numbers:
            yield Page(f"{self.name}#1", lambda: None, words, number, words_from="ocr")  # type: ignore[arg-type,return-value]


@dataclass(frozen=True)
class Scans:
    scan: Scan
    size: int = 1

    def documents(self) -> Iterator[Scan | PageError]:
        yield self.scan

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class Place:
    folder: Path
    index: str
    document: str
    broken: str
    scan: str
    word: str
    key: str
    value: str


def hostile_place(folder: Path, rng: random.Random) -> Place:
    """Documents with hostile names in a hostile folder, a scan with hostile words, an index."""
    docs = folder / hostile(rng)
    document = write_pdf(docs / f"{hostile(rng)}.pdf", "ships and tides", "the second page")
    broken = docs / f"{hostile(rng)}.pdf"
    broken.write_text("<html>")
    word, key, value = (hostile(rng, 3) for _ in range(3))
    scan = Scan(f"/{hostile(rng)}/{hostile(rng)}.tiff", [word, "lighthouse", hostile(rng)])
    index = str(folder / f"{hostile(rng)}.idx")
    with Index.create(index) as made:
        made.add(document)
        made.add_from(Scans(scan), metadata={"source": hostile(rng)})
    return Place(docs, index, str(document), str(broken), scan.name, word, key, value)


def check(printed: str, *names: str) -> None:
    """Nothing hostile is printed, and the names are, with their codes shown."""
    assert not HOSTILE & set(printed), ascii(printed)
    for name in names:
        assert visible(name) in printed, (ascii(name), ascii(printed))


@pytest.mark.parametrize("seed", range(int(os.environ.get("DOCPRUNER_HOSTILE", "3"))))
def test_no_command_lets_names_or_texts_steer_the_terminal(seed, tmp_path, monkeypatch):
    place = hostile_place(tmp_path, random.Random(seed))
    monkeypatch.chdir(tmp_path)
    index, name = place.index, Path(place.document).name
    short = f"{place.folder.name}/{name}"

    status, out, err = run("index", index, str(place.folder), "-m", f"{place.key}={place.value}")
    assert status == 3
    check(out, Path(index).name, "1 document unchanged")
    check(err, Path(place.broken).name)
    status, out, _ = run("index", index, str(place.folder), "--json")
    check(out)
    events = [json.loads(line) for line in out.splitlines()]
    assert events[-1]["problems"][0]["path"] == place.broken

    status, out, err = run("list", index)
    check(out + err, short, place.scan, f"{place.key.strip()}={place.value.strip()}")
    _, out, _ = run("list", index, "--json")
    check(out)
    assert {entry["document"] for entry in json.loads(out)} == {place.document, place.scan}
    status, out, err = run("metadata", index, name, "-m", f"{place.value}=1")
    check(out + err, short)

    status, out, err = run("search", index, f"ships {place.word}")
    check(out + err, Path(place.scan).name)
    status, out, err = run("search", index, place.word, "--save-images", str(tmp_path / "hits"))
    check(out + err)
    _, out, _ = run("search", index, place.word, "--json")
    check(out)
    assert {hit["document"] for hit in json.loads(out)["hits"]} == {place.document, place.scan}

    for subject, options in (
        (place.document, ["--page", "1"]),
        (place.document, []),
        (place.broken, []),
        (index, ["--page", f"{name}#1"]),
        (index, ["--page", f"{name}#9"]),
        (index, ["--page", place.scan]),
        (index, ["--hit", f"ships {place.word}", "-k", "2"]),
        (index, ["--hit", "tides", "--word", place.word]),
        (index, []),
    ):
        for form in ([], ["--json"]):
            _, out, err = run("explain", subject, *options, *form)
            check(out + err)
            assert out + err

    for command in (
        ["stats", index],
        ["stats", index, "--json"],
        ["prune", index, "docpruner:k=0.5", "--dry-run"],
        ["prune", index, place.word],
        ["delete", index, "--dry-run", "*"],
        ["delete", index, place.word],
        ["compact", index],
        ["search", index + place.word, "x"],
        ["search", index, "x", "--pages", place.word],
        ["search", index, "x", "-m", place.word],
        ["explain", place.word],
        ["--debug", "search", place.word, "x"],
        ["index", index, place.word],
        ["index", index, place.broken, "--config", place.word],
        ["index", index, place.broken, "--metadata-file", place.word],
        ["index", place.folder.name, place.broken],
        ["demo", f"{place.broken}/demo"],
        [f"--{place.word}"],
        [place.word],
        ["stats", index, place.word],
    ):
        _, out, err = run(*command)
        check(out + err)
        assert out + err, command

    segment = next(Path(index).glob("segments/*.rows"))
    segment.write_bytes(bytes(len(segment.read_bytes())))
    status, out, err = run("verify", index)
    assert status == 1
    check(out + err, short, place.scan)


# ------------------------------------------------------------------ on any terminal

NAMES = ("tidal-energy-2024.pdf", "日本の港.pdf", "a rather long name of a report.pdf")


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("narrow")
    for name in NAMES:
        write_pdf(folder / "docs" / name, f"lighthouses and {len(name)} tides")
    location = str(folder / "my.idx")
    assert run("index", location, str(folder / "docs"))[0] == 0
    return location


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_an_encoding_that_lacks_signs_is_no_reason_to_fail(index, encoding):
    for command in (
        ["stats", index],
        ["list", index],
        ["search", index, "Leuchtturm → lighthouses"],
        ["strategies"],
        ["--help"],
        ["search", "日本", "x"],
    ):
        done = docpruner(*command, env={"PYTHONIOENCODING": encoding})
        assert "Error" not in done.stderr
        assert done.returncode == (1 if "日本" in command else 0), done.stderr
    listed = docpruner("list", index, "--json", env={"PYTHONIOENCODING": encoding}).stdout
    assert {Path(entry["document"]).name for entry in json.loads(listed)} == set(NAMES)


@pytest.mark.parametrize("columns", [20, 30, 40, 60, 80])
def test_words_stay_whole_where_the_terminal_has_room_for_them(index, columns, monkeypatch):
    monkeypatch.chdir(Path(index).parent / "docs")
    for command in (["search", index, "lighthouses"], ["list", index]):
        _, out, _ = run(*command, columns=columns)
        words = out.split()
        for name in NAMES:
            for word in name.split():
                assert word in words or cell_len(word) > columns, out
        assert max(map(cell_len, out.splitlines())) <= columns
    _, out, _ = run("stats", index, columns=columns)
    for word in ("builtin-v2,", "docpruner:k=-0.25", "vectors", "dimensions", "float16"):
        assert word in out.split()


def test_a_full_disk_costs_the_pictures_and_not_the_hits(index, tmp_path):
    disk = tmp_path / "disk"
    with small_disk(disk, kilobytes=256):
        (disk / "ballast").write_bytes(bytes(200_000))
        status, out, err = run("search", index, "lighthouses", "--save-images", str(disk / "hits"))
        assert "tidal-energy-2024.pdf" in out
        assert status == 1
        assert err == (
            f"error: no pictures can be saved in {disk / 'hits'} (No space left on device); choose "
            "another folder\n"
        )
        assert "Traceback" not in err
        assert all(picture.stat().st_size > 10_000 for picture in (disk / "hits").iterdir())
        status, out, _ = run(
            "search", index, "lighthouses", "--json", "--save-images", str(disk / "hits")
        )
        assert (status, json.loads(out)["hits"][-1]["picture"]) == (1, None)


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[None]:
    """A disk of its own, which only root may mount."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "docpruner-test", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("no disk can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
