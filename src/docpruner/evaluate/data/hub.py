"""Public benchmarks by name, through `datasets`; the split is always `test`.

Data sets lie on the Hugging Face Hub, or in a folder with a copy of one, in one of three layouts:

flat      ViDoRe V1, JinaVDR. One table, or one for each language: a row has `image`,
          `image_filename` and `query`, which may be null. Rows with the same `image_filename` are
          the same page, rows with the same `query` the same query, and each row is an answer.
parts     ViDoRe V2 and V3, and V1 in its `_beir` form. Three tables: `corpus` (`corpus-id`,
          `image`), `queries` (`query-id`, `query`, and `language` in words such as `english`) and
          `qrels` (`query-id`, `corpus-id`, `score`). V3 writes `corpus_id` and `query_id`.
folders   JinaVDR in its `_beir` form. The same three tables below a folder `default`, or one for
          each language, which has pages of its own (`de/corpus`, `de/queries`, `de/qrels`).

Sources: illuin-tech/vidore-benchmark (`ViDoReEvaluatorQA`, `ViDoReEvaluatorBEIR`), jina-ai/jina-vdr
(`--dataset-format qa`, a config for each language) and the tasks of mteb.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from docpruner.errors import DataError, MissingExtraError
from docpruner.evaluate.data.benchmarks import Layout, language_of, languages_of, layout_of, named
from docpruner.evaluate.data.data_sets import DataSet
from docpruner.evaluate.data.hub_tables import Table, flat_data, parts_data
from docpruner.evaluate.data.pinned_revisions import REVISIONS

SPLIT = "test"
TABLES = ("qrels", "queries", "corpus")  # the largest last: what can't be had fails early

_CODES = {"english": "en", "french": "fr", "german": "de", "italian": "it", "jp": "ja",
          "portuguese": "pt", "spanish": "es"}  # fmt: skip


def load_benchmark(name: str, *, language: str | None = None) -> list[DataSet]:
    """A benchmark (`vidore-v2`), one data set (`vidore/esg_reports_v2`), or a folder with one.

    `jinavdr` has the four data sets that the paper measures on, `jinavdr-all` all of them. With
    `language`, only queries in it (`en` or `english`), and only data sets that have some.
    """
    _datasets()
    places = _places(name)
    sets: list[DataSet] = []
    languages: set[str] = set()
    for place in places:
        languages.update(place.languages)
        for data in place.load(language):
            languages.update(query.lang for query in data.queries)
            chosen = data if language is None else _only(data, language)
            if chosen.queries:
                sets.append(chosen)
    if not sets:
        there = ", ".join(sorted(languages - {""})) or "no language it names"
        raise DataError(f"{name} has no queries in {language!r}, only in {there}")
    return sets


# ---------------------------------------------------------------------- where it lies


@dataclass(frozen=True)
class _Place:
    """A data set: its name, and the Hub's id or the folder that it is loaded from."""

    name: str
    path: str
    key: str  # of its pages: the path before a downloaded copy was found
    layout: Layout
    languages: tuple[str, ...] = ()  # that it is divided into
    language: str = ""  # of queries that don't say theirs
    revision: str | None = None  # on the Hub; None: as it is today
    configs: bool = True  # whether its tables have names; else they are found by their folders

    @property
    def local(self) -> bool:
        return Path(self.path).is_dir()

    def load(self, language: str | None) -> list[DataSet]:
        """What of it may hold queries in a language, from a downloaded copy if there is no net."""
        try:
            return list(self._load(language))
        except DataError as error:
            folder = None if self.local else _downloaded(self.path, self.revision)
            if folder is None:
                raise
            copy = replace(self, path=str(folder), configs="corpus" in _configs(folder))
            try:
                return list(copy._load(language))
            except DataError:  # the copy is not complete
                raise error from None

    def _load(self, language: str | None) -> Iterator[DataSet]:
        for part in self.languages or ("",):
            if language is None or not part or _code(part) == _code(language):
                yield self._data(part)

    def _data(self, part: str) -> DataSet:
        """All of it, or one of its languages."""
        name, key = (f"{each}/{part}" if part else each for each in (self.name, self.key))
        language = part or self.language
        if self.layout == "flat":
            return flat_data(name, key, self.table(config=part or None), language)
        if self.layout == "folders":
            tables = {table: self.table(folder=f"{part or 'default'}/{table}") for table in TABLES}
        elif self.configs:
            tables = {table: self.table(config=table) for table in TABLES}
        else:
            tables = {table: self.table(folder=table) for table in TABLES}
        return parts_data(name, key, tables, language)

    def table(self, *, config: str | None = None, folder: str | None = None) -> Table:
        try:
            revision = None if self.local else self.revision
            return _datasets().load_dataset(
                self.path, config, data_dir=folder, split=SPLIT, revision=revision
            )
        except Exception as error:  # of whatever library the network, the cache or a file is read
            part = config or folder
            reason = str(error).strip().split("\n")[0]
            where = f"{self.name} ({part})" if part else self.name
            if self.local:
                remedy = "is the copy complete, with parquet files for the split test?"
            else:
                remedy = (
                    f"where there is a network, run: hf download --repo-type dataset {self.path}"
                    f"{f' --revision {self.revision}' if self.revision else ''}; "
                    "where there is none, set HF_HOME to the folder that has it"
                )
            raise DataError(f"{where} can't be loaded ({reason}); {remedy}") from error


def _places(name: str) -> list[_Place]:
    folder = Path(name)
    plain, _, revision = name.partition("@")
    try:
        ids = named(plain)
    except DataError:
        if not folder.is_dir():
            raise
        return [_local(folder.resolve().name, folder.resolve())]
    if revision and len(ids) > 1:
        raise DataError(f"{plain} is {len(ids)} data sets; a revision is one data set's")
    return [_known(each, revision or REVISIONS.get(each)) for each in ids]


def _known(name: str, revision: str | None) -> _Place:
    """A folder of that name goes before the Hub, as it does for `datasets`."""
    folder, language = Path(name), language_of(name)
    if folder.is_dir():
        return replace(_local(name, folder.resolve()), language=language)
    key = f"{name}@{revision}" if revision else name
    return _Place(name, name, key, layout_of(name), languages_of(name), language, revision)


def _local(name: str, folder: Path) -> _Place:
    """A copy tells by its folders and its README.md in which layout it is."""
    configs, path = _configs(folder), str(folder)
    if "corpus" in configs or (folder / "corpus").is_dir():
        return _Place(name, path, path, "parts", configs="corpus" in configs)
    below = sorted(path.parent.name for path in folder.glob("*/corpus") if path.is_dir())
    if below:
        languages = () if below == ["default"] else tuple(below)
        return _Place(name, path, path, "folders", languages)
    languages = () if configs == ("default",) else configs
    return _Place(name, path, path, "flat", languages)


def _configs(folder: Path) -> tuple[str, ...]:
    try:
        return tuple(_datasets().get_dataset_config_names(str(folder)))
    except Exception:  # no file that it knows
        raise DataError(
            f"{folder} holds no data set; it needs parquet files in corpus/, queries/ and qrels/, "
            "or in data/"
        ) from None


def _downloaded(repository: str, revision: str | None) -> Path | None:
    """A copy in the Hub's own cache, as `hf download` leaves it there."""
    from huggingface_hub import snapshot_download

    try:
        return Path(
            snapshot_download(
                repository, repo_type="dataset", revision=revision, local_files_only=True
            )
        )
    except Exception:  # not there
        return None


def _datasets() -> Any:
    try:
        import datasets  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtraError("benchmarks by name", "eval") from None
    return datasets


# ---------------------------------------------------------------------- languages


def _code(language: str) -> str:
    return _CODES.get(language.lower(), language.lower())


def _only(data: DataSet, language: str) -> DataSet:
    """Its queries in a language; the pages stay, so that they are encoded once for all."""
    code = _code(language)
    return replace(data, queries=tuple(q for q in data.queries if _code(q.lang) == code))
