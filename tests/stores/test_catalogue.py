"""Which folders become an index, and which are opened as one."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from docpruner.errors import DamagedIndexError, IndexStateError
from docpruner.stores.folder.catalogue import FORMAT, NAME
from docpruner.stores.folder.store import FolderStore
from stores.made import create_folder, documents_of


def change(folder, *statements: str) -> None:
    with closing(sqlite3.connect(folder / NAME)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def test_a_new_index_is_there_for_others(tmp_path):
    folder = tmp_path / "deep" / "index"
    with create_folder(folder) as store, FolderStore(folder) as other:
        assert documents_of(other) == documents_of(store) == []


def test_an_index_is_not_made_over_another(tmp_path):
    create_folder(tmp_path).close()
    with pytest.raises(IndexStateError, match="already holds an index; open it, or choose another"):
        create_folder(tmp_path)


def test_an_index_is_not_made_among_other_files(tmp_path):
    (tmp_path / "notes.txt").touch()
    with pytest.raises(IndexStateError, match="is not empty; choose another folder"):
        create_folder(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} <= {"notes.txt", "writer.lock"}


def test_an_index_is_not_made_of_a_file(tmp_path):
    (tmp_path / "notes.txt").touch()
    with pytest.raises(IndexStateError, match=r"notes\.txt is a file; choose another name"):
        create_folder(tmp_path / "notes.txt")


def test_what_a_creation_that_was_stopped_has_left_is_no_obstacle(tmp_path):
    (tmp_path / "segments").mkdir()
    (tmp_path / f"{NAME}.new").write_bytes(b"half")
    (tmp_path / f"{NAME}.new-journal").touch()
    with create_folder(tmp_path) as store:
        assert documents_of(store) == []


@pytest.mark.parametrize("name", ["", "missing"])
def test_a_folder_without_an_index_says_how_to_make_one(tmp_path, name):
    with pytest.raises(IndexStateError, match="holds no index; make one with: docpruner index"):
        FolderStore(tmp_path / name)


@pytest.mark.parametrize("more", [(), ("DROP TABLE settings",)], ids=["same", "other tables"])
def test_a_future_format_says_to_upgrade(tmp_path, more):
    create_folder(tmp_path).close()
    change(tmp_path, f"PRAGMA user_version = {FORMAT + 1}", *more)
    told = rf"has format {FORMAT + 1}, this docpruner knows {FORMAT}; upgrade docpruner"
    with pytest.raises(IndexStateError, match=told):
        FolderStore(tmp_path)


def test_another_kind_of_database_is_a_damaged_index(tmp_path):
    change(tmp_path, "CREATE TABLE songs (name TEXT)")
    with pytest.raises(DamagedIndexError, match=r"no such table: settings.*restore it from a copy"):
        FolderStore(tmp_path)


def test_a_file_that_is_no_database_is_a_damaged_index(tmp_path):
    (tmp_path / NAME).write_bytes(b"a" * 5000)
    with pytest.raises(DamagedIndexError, match="file is not a database"):
        FolderStore(tmp_path)


def test_a_folder_may_have_signs_that_mean_something_in_an_address(tmp_path):
    folder = tmp_path / "50% of a#b?mode=ro ü"
    create_folder(folder).close()
    with FolderStore(folder) as store, store.reader() as reader:
        assert reader.settings.encoder == "made"
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
