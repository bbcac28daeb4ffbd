"""Adding and removing by agents: below the folders that were named, and nowhere else."""

import os
import shutil
from pathlib import Path

import pytest

from agents.conftest import SAMPLES, asked, command, text_of
from docpruner.errors import DocPrunerError
from docpruner.facade import Index
from docpruner.integrations.agent_changes import AgentChanges
from docpruner.integrations.agent_view import AgentView
from docpruner.web.error_responses import Refused

FORM, PLAN = "travel-expense-form.pdf", "site-plan.png"


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A folder to add from, with links that lead out of it, and a file beside it."""
    inside, outside = tmp_path / "library", tmp_path / "private"
    inside.mkdir()
    outside.mkdir()
    shutil.copy(SAMPLES / FORM, inside)
    shutil.copy(SAMPLES / PLAN, outside / "secret.png")
    (inside / "link.png").symlink_to(outside / "secret.png")
    (inside / "elsewhere").symlink_to(outside)
    return tmp_path


def test_an_agent_adds_and_deletes_below_the_folder(library):
    index = library / "my.idx"
    with Index.create(index) as made:
        made.add(library / "private")
    progress = []

    async def on_progress(done, total, message):
        progress.append((done, total, message))

    async def work(client):
        call = client.call_tool
        names = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
        return names, {
            "added": await call("add", {"paths": ["."]}, progress_callback=on_progress),
            "found": await call("search", {"query": "guest house", "document": FORM}),
            "outside": await call("add", {"paths": [str(library / "private" / "secret.png")]}),
            "link": await call("add", {"paths": ["link.png"]}),
            "above": await call("add", {"paths": ["../private"]}),
            "missing": await call("add", {"paths": ["none.pdf"]}),
            "kept": await call("delete", {"documents": [FORM, "secret.png"]}),
            "still": await call("documents"),
            "deleted": await call("delete", {"documents": [FORM]}),
        }

    options = ("--allow-changes", "--folder", str(library / "library"))
    names, got = asked(command(index, *options), work)
    assert names["delete"].destructive_hint
    assert not names["add"].read_only_hint
    assert got["added"].structured_content["documents"] == {"added": 1}
    assert got["added"].structured_content["pages"] == 2
    assert "secret.png leads outside" in " ".join(got["added"].structured_content["problems"])
    assert progress[-1][:2] == (1.0, 1.0)
    assert got["found"].structured_content["hits"][0]["document"] == FORM
    for refused in ("outside", "link", "above", "kept"):
        assert got[refused].is_error
        assert f"is not below {library / 'library'}" in text_of(got[refused])
    assert "none.pdf does not exist" in text_of(got["missing"])
    assert got["still"].structured_content["total"] == 2
    assert got["deleted"].structured_content == {"deleted": [FORM]}
    assert (library / "library" / FORM).exists()
    with Index.open(index) as opened:
        assert [Path(entry.name).name for entry in opened.documents()] == ["secret.png"]


@pytest.fixture
def changes(library):
    view = AgentView(Index.create(None), tells_paths=True)
    yield AgentChanges(view, [library / "library"])
    view.close()


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../private/secret.png", "elsewhere", "elsewhere/secret.png", "a\0b", "/", ""],
)
def test_nothing_is_read_or_told_of_what_lies_outside(changes, library, path):
    if path == "":
        os.rename(library / "library" / FORM, library / FORM)  # only links are left
    with pytest.raises(Refused, match="is not below"):
        changes.add([path], False, None, print)
    assert changes._view.index.documents() == []


def test_a_folder_has_to_be_there(changes, library):
    with pytest.raises(DocPrunerError, match="is not a folder; give one that is there"):
        AgentChanges(changes._view, [library / "library" / FORM])
