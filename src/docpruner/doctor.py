"""What this installation can do, and what to run to make it do more."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from docpruner.cores import usable_cores
from docpruner.errors import OcrError
from docpruner.maxsim import kernels
from docpruner.pages import tesseract

# jina excludes vlm: it needs an environment of its own, so it is no advice for this one
EXTRAS = (  # name, what it gives, the packages that must be there
    ("vlm", "ColPali, ColQwen, ColNomic, ColSmol …", ("torch", "transformers", "colpali-engine")),
    ("ocr", "words of scans", ("rapidocr",)),
    ("st", "the module for sentence-transformers", ("sentence-transformers",)),
    ("eval", "docpruner evaluate, calibrate, reproduce", ("datasets", "ir-measures", "matplotlib")),
    ("web", "docpruner serve", ("fastapi", "uvicorn")),
    ("mcp", "docpruner mcp, for agents", ("mcp",)),
    ("mteb", "a pruned model in mteb", ("mteb",)),
    ("lance", "an index in Lance, on a disk or in object storage", ("pylance",)),
    ("postgres", "an index in PostgreSQL", ("psycopg",)),
    ("qdrant", "an index on a Qdrant server", ("qdrant-client",)),
    ("qdrant-edge", "an index in Qdrant's engine, without a server", ("qdrant-edge-py",)),
    ("ray", "indexing and searching on a cluster", ("ray",)),
    ("langchain", "a retriever for LangChain", ("langchain-core",)),
    ("llama-index", "a retriever for LlamaIndex", ("llama-index-core",)),
    ("haystack", "a retriever for Haystack", ("haystack-ai",)),
)


@dataclass(frozen=True)
class Finding:
    """One fact; `remedy` is what to run if it could be better."""

    what: str
    found: str
    why: str = ""
    remedy: str = ""


def examine() -> list[Finding]:
    """Everything worth knowing about this installation, most important first."""
    return [
        Finding("docpruner", version("docpruner")),
        _kernel(),
        Finding("cores", str(usable_cores())),
        Finding("python", platform.python_version(), why=platform.platform()),
        Finding("numpy", version("numpy")),
        *(_extra(*extra) for extra in EXTRAS),
        _tesseract(),
    ]


def _kernel() -> Finding:
    found = kernels()
    remedy = ""
    if found.names[0] == "numpy":
        remedy = "install a C compiler, then: pip install --force-reinstall --no-deps docpruner"
    return Finding("MaxSim kernel", found.names[0], found.reason, remedy)


def _tesseract() -> Finding:
    remedy = tesseract.INSTALL.format("rus")
    try:
        languages = tesseract.installed_languages()
        if languages is None:
            return Finding("tesseract", "not installed", "words of scans in more languages", remedy)
        return Finding("tesseract", "installed", f"{tesseract.version()}: {', '.join(languages)}")
    except OcrError as error:
        return Finding("tesseract", "broken", str(error), remedy)


def _extra(name: str, gives: str, packages: tuple[str, ...]) -> Finding:
    found = [f"{package} {installed}" for package in packages if (installed := _installed(package))]
    if len(found) == len(packages):
        return Finding(f"extra {name}", "installed", ", ".join(found))
    return Finding(f"extra {name}", "not installed", gives, f'pip install "docpruner[{name}]"')


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
