"""The command as a user runs it: real processes, real output."""

import json
import re
import shutil
import signal
import subprocess
import sys
from importlib.metadata import metadata
from pathlib import Path

import pytest
from fpdf import FPDF

import docpruner as docpruner_package
from cli_process import docpruner
from docpruner.cli.lazy_commands import COMMANDS as COMMAND_SOURCES
from docpruner.cli.lazy_commands import load
from docpruner.maxsim import kernels
from docpruner.reduce import STRATEGIES

SAMPLES = Path(docpruner_package.__file__).parent / "samples"


def test_strategies_lists_every_strategy_with_its_grid():
    shown = docpruner("strategies")
    assert shown.returncode == 0
    for name in STRATEGIES:
        assert name in shown.stdout
    assert "k ∈ {-0.5, -0.25*, 0, 0.25, 0.5, 1}" in shown.stdout


def test_strategies_for_programs():
    listed = {
        entry["name"]: entry for entry in json.loads(docpruner("strategies", "--json").stdout)
    }
    assert list(listed) == list(STRATEGIES)
    (factor,) = listed["pool-2d"]["parameters"]
    assert factor["paper_grid"] == [4, 9, 16, 25]
    assert listed["attention-threshold"]["parameters"][0]["default"] is None


def test_doctor_names_the_kernel_in_use():
    findings = {f["what"]: f for f in json.loads(docpruner("doctor", "--json").stdout)}
    assert findings["MaxSim kernel"]["found"] == kernels().names[0]
    assert findings["MaxSim kernel"]["why"] == kernels().reason
    assert kernels().names[0] in docpruner("doctor").stdout


def test_doctor_says_how_to_install_what_is_missing():
    program = """
import sys
from docpruner import doctor
doctor._installed = lambda package: None  # as in an environment with the package alone
sys.argv = ["docpruner", "doctor"]
from docpruner.cli import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    declared = set(metadata("docpruner").get_all("Provides-Extra") or [])
    for extra in declared - {"dev", "samples", "jina"}:  # jina is no advice beside vlm
        assert f'→ pip install "docpruner[{extra}]"' in done.stdout


COMMANDS = [
    *("index", "search", "list", "metadata", "stats", "delete", "compact", "verify", "prune"),
    *(
        "copy",
        "export",
        "tune",
        "explain",
        "serve",
        "mcp",
        "evaluate",
        "calibrate",
        "reproduce",
        "strategies",
        "doctor",
        "demo",
    ),
]


def test_all_commands_are_listed():
    shown = docpruner("--help").stdout
    assert [
        line.split()[1] for line in shown.splitlines() if re.match("│ [a-z]+ ", line)
    ] == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example_and_no_types_of_python(command):
    shown = docpruner(command, "--help").stdout
    assert f"docpruner {command}" in shown.split("Example")[1]
    assert not re.search("<[a-z]", shown)


def test_the_list_of_commands_says_what_they_say_themselves():
    for name, source in COMMAND_SOURCES.items():
        assert load(name).help.splitlines()[0] == source.summary, name


def test_help_loads_nothing_but_what_lists_the_commands():
    program = """
import sys
from docpruner.cli import main
sys.argv = ["docpruner", "--help"]
try:
    main()
finally:
    print("loaded:", *sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    listing, loaded = done.stdout.split("loaded:")
    assert "index" in listing
    modules = set(loaded.split())
    heavy = "numpy PIL onnxruntime tokenizers sqlite3 pydantic pypdfium2 asyncio importlib.metadata"
    assert modules.isdisjoint(heavy.split())
    assert {name for name in modules if name.startswith("docpruner")} == {
        *("docpruner", "docpruner.errors", "docpruner.cli", "docpruner.cli.main"),
        *("docpruner.cli.lazy_commands", "docpruner.cli.arguments"),
    }


def test_version_and_wrong_commands():
    assert docpruner("--version").stdout.startswith("docpruner 0.")
    wrong = docpruner("prunes")
    assert wrong.returncode == 2
    assert wrong.stderr == (
        "error: No such command 'prunes'. Did you mean 'prune', 'tune'? (see docpruner --help)\n"
    )


# ------------------------------------------------------------------ an index, from first to last


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with documents, some of them bad, and their index."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "docs").mkdir()
    for name in ("annual-report.pdf", "product-launch-slides.pdf", "site-plan.png"):
        shutil.copy(SAMPLES / name, folder / "docs")
    (folder / "docs" / "page.pdf").write_text("<html>")
    done = docpruner("index", "my.idx", "docs", "-m", "year=2024", "--no-ocr", at=folder)
    assert done.returncode == 3, done.stderr
    assert "3 documents added" in done.stdout
    assert "% saved" in done.stdout
    assert "1 page has no words, so this encoder can't find it; --ocr recognises" in done.stdout
    assert "left out docs/page.pdf: is not a PDF: it looks like a web page" in done.stderr
    return folder


def test_search_shows_the_page_and_the_words_that_match(folder):
    shown = docpruner("search", "my.idx", "dividend per share", "-k", "2", at=folder)
    assert shown.returncode == 0
    rows = [line.split() for line in shown.stdout.splitlines() if "annual-report.pdf" in line]
    assert rows[0][:3] == ["1", "annual-report.pdf", "4"]
    assert "dividend" in " ".join(rows[0])


def test_search_for_programs_with_pictures(folder):
    query = ("search", "my.idx", "What does it cost to lease the cargo bike?", "-k", "3", "--json")
    found = json.loads(docpruner(*query, "--save-images", "hits", at=folder).stdout)
    best = found["hits"][0]
    assert (best["document"], best["page"]) == (
        str(folder / "docs" / "product-launch-slides.pdf"),
        8,
    )
    assert best["metadata"] == {"year": "2024"}
    assert {"query": "lease", "page": "Lease"} in best["matched"]
    assert "Lease" in best["snippet"]
    assert all(
        0 <= edge <= 1 for match in best["matches"] for box in match["boxes"] for edge in box
    )
    pictures = [folder / hit["picture"] for hit in found["hits"]]
    assert all(picture.read_bytes().startswith(b"\x89PNG") for picture in pictures)


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        (["--document", "product*"], {"product-launch-slides.pdf"}),
        (["--document", "docs/a*", "--pages", "3-4"], {"annual-report.pdf"}),
        (["--metadata", "year=2024", "--pages", "12-"], {"annual-report.pdf"}),
        (["--metadata", "year=1999"], set()),
    ],
)
def test_search_within_filters(folder, filters, names):
    shown = docpruner("search", "my.idx", "revenue", "--json", *filters, at=folder)
    found = json.loads(shown.stdout)["hits"]
    assert {Path(hit["document"]).name for hit in found} == names
    assert shown.returncode == (0 if names else 4)


def test_index_for_programs_is_a_line_for_each_event(folder):
    shown = docpruner("index", "my.idx", "docs", "--json", at=folder)
    events = [json.loads(line) for line in shown.stdout.splitlines()]
    assert {event["event"] for event in events} == {"problem", "progress", "done"}
    done = events[-1]
    assert (done["outcome"], done["documents"], done["pages"]) == ("some", {"unchanged": 3}, 0)
    assert done["problems"][0]["path"] == str(folder / "docs" / "page.pdf")


def test_an_index_of_an_older_edition_stays_and_says_that_there_is_a_newer_one(folder):
    made = docpruner("index", "old.idx", "docs", "--encoder", "builtin-v1", at=folder)
    hint = "builtin-v2 finds more than the encoder of this index"
    assert made.stdout.count(hint) == 1
    assert re.search(
        r"encode its 23 pages again, about \d+ seconds? at this run's pace, "
        r"with docpruner index NEW.idx FILES",
        made.stdout,
    )
    unchanged = docpruner("index", "old.idx", "docs", at=folder)
    assert "encode its 23 pages again, with docpruner index" in unchanged.stdout
    again = docpruner("index", "old.idx", "docs", "--json", at=folder)
    assert json.loads(again.stdout.splitlines()[-1])["newer_encoder"] == "builtin-v2"
    hits = json.loads(docpruner("search", "old.idx", "revenue", "--json", at=folder).stdout)["hits"]
    assert hits
    stats = json.loads(docpruner("stats", "old.idx", "--json", at=folder).stdout)
    assert "builtin-v1" in json.dumps(stats)
    now = docpruner("index", "my.idx", "docs", "--json", at=folder)
    assert json.loads(now.stdout.splitlines()[-1])["newer_encoder"] is None
    assert hint not in docpruner("index", "my.idx", "docs", at=folder).stdout


def test_quiet_says_problems_only(folder):
    shown = docpruner("index", "my.idx", "docs", "--quiet", at=folder)
    assert shown.stdout == ""
    assert len(shown.stderr.splitlines()) == 1


def test_none_of_the_files_goes_in(folder):
    shown = docpruner("index", "other.idx", "nowhere.pdf", at=folder)
    assert shown.returncode == 4
    assert "left out nowhere.pdf: does not exist; check the path" in shown.stderr


def test_stats_for_people_and_programs(folder):
    told = json.loads(docpruner("stats", "my.idx", "--json", at=folder).stdout)
    assert (told["documents"], told["settings"]["spec"]) == (3, "docpruner:k=-0.25")
    shown = docpruner("stats", "my.idx", at=folder).stdout
    assert f"{told['vectors']:,} of {told['vectors_unpruned']:,}" in shown
    assert "pruned 50–60%" in shown


def test_what_if_then_prune_then_delete_then_compact_then_verify(folder):
    shutil.copytree(folder / "my.idx", folder / "copy.idx")
    spec = "docpruner:k=0.5"
    what_if = json.loads(
        docpruner("prune", "copy.idx", spec, "--dry-run", "--json", at=folder).stdout
    )
    pruned = json.loads(docpruner("prune", "copy.idx", spec, "--yes", "--json", at=folder).stdout)
    assert what_if == {**pruned, "dry_run": True}
    stats = json.loads(docpruner("stats", "copy.idx", "--json", at=folder).stdout)
    assert (stats["vectors"], stats["settings"]["spec"]) == (pruned["vectors"], spec)

    removed = docpruner("delete", "copy.idx", "annual*", at=folder)
    assert removed.stdout == "removed docs/annual-report.pdf\n"
    assert docpruner("delete", "copy.idx", "annual*", at=folder).returncode == 4
    freed = json.loads(docpruner("compact", "copy.idx", "--json", at=folder).stdout)
    assert freed["bytes_freed"] > 0

    assert docpruner("verify", "copy.idx", at=folder).stdout == "no damage in 10 pages\n"
    (segment,) = (folder / "copy.idx" / "segments").iterdir()
    content = bytearray(segment.read_bytes())
    content[0] ^= 1
    segment.write_bytes(content)
    found = docpruner("verify", "copy.idx", at=folder)
    assert found.returncode == 1
    assert "#1: its bytes have changed" in found.stdout
    again = docpruner("index", "copy.idx", "docs/product-launch-slides.pdf", at=folder)
    assert "1 document completed" in again.stdout
    assert docpruner("verify", "copy.idx", at=folder).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["search", "nowhere", "x"], "nowhere holds no index; make one with: docpruner index"),
        (["search", "my.idx", "x", "--pages", "9-3"], "'9-3' is not a page range"),
        (["search", "my.idx", "x", "--metadata", "year"], "metadata 'year' is not KEY=VALUE"),
        (["index", "my.idx", "docs", "--spec", "docpruner:k=1"], "has spec docpruner:k=-0.25"),
        (["index", "my.idx", "docs", "--codec", "float16"], "has codec int2, not float16"),
        (["index", "my.idx", "docs", "--encoder", "some/model"], "has encoder builtin-v2, not"),
        (["index", "docs", "docs"], "docs is not empty; choose another folder"),
        (["prune", "my.idx", "docpruner:k=-1", "--yes"], "index the documents again to keep more"),
        (["prune", "my.idx", "docprune", "--yes"], "docprune"),
    ],
)
def test_errors_are_one_line_and_say_what_to_do(folder, arguments, said):
    done = docpruner(*arguments, at=folder)
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1


def test_debug_shows_where_an_error_came_from(folder):
    done = docpruner("--debug", "search", "nowhere", "x", at=folder)
    assert "Traceback" in done.stderr


PAGES = 120  # some seconds of work


def test_ctrl_c_keeps_what_was_committed_and_says_how_to_go_on(folder):
    document = FPDF()
    document.set_font("helvetica")
    for number in range(PAGES):
        document.add_page()
        for line in range(20):
            document.text(10, 10 + 6 * line, f"line {line} of page {number} about ships and tides")
    document.output(str(folder / "long.pdf"))
    command = [sys.executable, "-m", "docpruner", "index", "long.idx", "long.pdf", "--json"]
    run = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    pages = json.loads(run.stdout.readline())["pages"]
    run.send_signal(signal.SIGINT)
    rest, _ = run.communicate(timeout=60)
    assert run.returncode == 130
    assert json.loads(rest.splitlines()[-1]) == {"event": "interrupted"}
    told = json.loads(docpruner("stats", "long.idx", "--json", at=folder).stdout)
    assert 0 < pages <= told["pages"] < PAGES
    assert told["missing_pages"] == PAGES - told["pages"]
    again = docpruner("index", "long.idx", "long.pdf", "--json", at=folder).stdout
    done = json.loads(again.splitlines()[-1])
    assert done["documents"] == {"completed": 1}
    assert done["pages"] == PAGES - told["pages"]
