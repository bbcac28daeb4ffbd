"""The shape of the software holds: one direction, thick walls, light imports."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "docpruner"
MODULES = sorted(PACKAGE.rglob("*.py"))

VALUES = {"types", "hits", "errors"}
"""What flows from room to room."""

# room: the rooms it may import. A stage knows only what flows into it, never a later stage.
ROOMS = {
    "errors": set(),
    "cores": set(),
    "outside_text": set(),
    "types": {"errors"},
    "word_forms": {"types"},
    "hits": {"types", "errors", "word_forms"},
    "rotation": {"types"},
    "codecs": {"rotation", "types", "errors"},
    "maxsim": {"codecs", "rotation", "types", "errors", "_maxsim", "cores"},
    "similarities": {"maxsim", "codecs", "rotation", "types", "_maxsim", "cores"},
    "reduce": {"types", "errors"},
    "pages": {"types", "errors", "cores"},
    "encoders": {"types", "errors", "cores"},
    "stores": {
        *("codecs", "maxsim", "similarities", "types", "errors", "cores", "_probe", "word_forms"),
    },
    "pipeline": {"pages", "encoders", "reduce", "stores", "codecs", "types", "errors"},
    "search": {"encoders", "stores", "similarities", "rotation", *VALUES},
    "facade": {"pipeline", "search", "stores", "pages", "encoders", "reduce", "codecs", *VALUES},
    "client": {"search", "stores", "pipeline", *VALUES},
    "pictures": VALUES,
    "explain": {"pages", "pictures", "stores", "encoders", "reduce", "codecs", *VALUES},
    "evaluate": {
        *("pipeline", "stores", "pages", "encoders", "reduce", "maxsim", "codecs", "pictures"),
        *("search", "explain", "cores", *VALUES),
    },
    "integrations": {
        *("encoders", "reduce", "stores", "codecs", "maxsim", "facade", "client", "search"),
        *("pages", "pipeline", "explain", "web", "word_forms", "outside_text", *VALUES),
    },
    "doctor": {"maxsim", "errors", "cores", "pages"},
    "web": {"outside_text", "facade", "explain", "search", "pipeline", "stores", "pages", *VALUES},
    "cli": {
        *("facade", "explain", "evaluate", "web", "search", "pipeline", "stores", "pages"),
        *("outside_text", "integrations"),
        *("encoders", "reduce", "codecs", "doctor", *VALUES),
    },
    "__init__": {"facade", "reduce", "encoders", "pipeline", *VALUES},
    "__main__": {"cli"},
}

CONTRACT = {
    *("contract", "records", "settings", "page_map", "page_text", "packed_page", "locations"),
    "shards",
}
"""Of the stores, what other rooms may know."""


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """The modules of the package that a module imports, as dotted names without the package's."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            pytest.fail(f"{path}: a relative import hides where it leads")
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "docpruner":
            names = [f"docpruner.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        modules |= {name.partition(".")[2] for name in names if name.startswith("docpruner.")}
    return modules


def libraries(path: Path) -> set[str]:
    """The packages that a module imports from elsewhere."""
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    names = {
        name
        for node in tree
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_room_imports_only_what_it_may_know(path):
    room = room_of(path)
    assert room in ROOMS, f"{room} is new: say in ROOMS what it may know"
    assert {name.partition(".")[0] for name in imported(path)} <= ROOMS[room] | {room}


@pytest.mark.parametrize(
    "path", [p for p in MODULES if room_of(p) != "stores"], ids=lambda p: str(p.name)
)
def test_of_the_stores_others_know_the_contract_alone(path):
    known = {name.split(".")[1] for name in imported(path) if name.startswith("stores.")}
    assert known <= CONTRACT


def test_one_store_does_not_know_another():
    inside = (PACKAGE / "stores" / "folder").glob("*.py")
    folder = {name for path in inside for name in imported(path)}
    assert not any(name.startswith("stores.memory") for name in folder)
    memory = imported(PACKAGE / "stores" / "memory.py")
    assert not any(name.startswith("stores.folder") for name in memory)


def test_only_the_folder_store_knows_sql_and_its_files():
    inside = PACKAGE / "stores" / "folder"
    outside = [path for path in MODULES if inside not in path.parents]
    assert [path.name for path in outside if "sqlite3" in libraries(path)] == []
    assert [path.name for path in outside if "catalogue.sqlite" in path.read_text("utf-8")] == []


def test_only_the_worker_opens_a_file_that_is_to_be_read():
    """A hostile one may crash, hang or bloat whoever opens it."""
    opening = {"pages.document", "pages.pdf", "pages.images", "pages.text_layer"}
    allowed = {"document.py", "pdf.py", "images.py", "text_layer.py", "worker.py"}
    who = {path.name for path in MODULES if opening & imported(path)}
    assert who <= allowed


def test_a_file_name_occurs_once_in_the_whole_tree():
    names = Counter(path.name for path in MODULES if path.name != "__init__.py")
    assert [name for name, count in names.items() if count > 1] == []


def test_import_is_light():
    heavy = "torch onnxruntime transformers rich typer PIL scipy"
    program = f"import sys, docpruner; print([m for m in {heavy.split()} if m in sys.modules])"
    printed = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout
    assert printed.strip() == "[]"
