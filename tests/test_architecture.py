"""The shape of the software holds: one direction, light imports."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "docpruner"

# room: the rooms it may import. A stage knows only what flows into it, never a later stage.
ROOMS = {
    "errors": set(),
    "cores": set(),
    "types": {"errors"},
    "codecs": {"types", "errors"},
    "maxsim": {"codecs", "types", "errors", "_maxsim", "cores"},
    "reduce": {"types", "errors"},
    "pages": {"types", "errors"},
    "encoders": {"types", "errors", "cores"},
    "index": {"types", "codecs", "maxsim", "errors"},
    "pipeline": {"pages", "encoders", "reduce", "index", "codecs", "types", "errors"},
    "search": {"encoders", "index", "types", "errors"},
    "pictures": {"types", "errors"},
    "facade": {
        *("pipeline", "search", "index", "pages", "encoders", "reduce", "codecs"),
        *("types", "errors"),
    },
    "evaluate": {
        *("pipeline", "index", "pages", "encoders", "reduce", "maxsim", "codecs", "pictures"),
        *("explain", "cores", "types", "errors"),
    },
    "web": {
        *("facade", "explain", "search", "pipeline", "index", "pages"),
        *("types", "errors"),
    },
    "explain": {"pages", "pictures", "index", "encoders", "reduce", "codecs", "types", "errors"},
    "integrations": {"encoders", "reduce", "codecs", "maxsim", "types", "errors"},
    "doctor": {"maxsim", "errors", "cores"},
    "cli": {
        *(
            "facade",
            "explain",
            "evaluate",
            "web",
            "search",
            "pipeline",
            "index",
            "encoders",
            "reduce",
        ),
        *("codecs", "doctor", "types", "errors"),
    },
    "__init__": {"facade", "reduce", "types"},
    "__main__": {"cli"},
}


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            pytest.fail(f"{path}: a relative import hides where it leads")
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "docpruner":
            names = [f"docpruner.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        rooms |= {name.split(".")[1] for name in names if name.startswith("docpruner.")}
    return rooms


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.name))
def test_a_room_imports_only_what_it_may_know(path):
    room = room_of(path)
    assert room in ROOMS, f"{room} is new: say in ROOMS what it may know"
    assert imported_rooms(path) <= ROOMS[room] | {room}


def test_import_is_light():
    heavy = "torch onnxruntime transformers rich typer PIL scipy"
    program = f"import sys, docpruner; print([m for m in {heavy.split()} if m in sys.modules])"
    printed = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout
    assert printed.strip() == "[]"
