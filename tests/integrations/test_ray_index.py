"""Indexing on a Ray cluster of two nodes: the same index and the same report as here."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli_process import docpruner
from docpruner.cli.lazy_commands import _with_address
from docpruner.errors import ClusterError
from docpruner.facade import Index
from docpruner.integrations.ray_cluster import joined
from docpruner.stores.packed_page import PackedPage
from faults.library import Library, contents_of, library
from faults.words import WordEncoder
from integrations.ray_loopback import Loopback, why_not
from pipeline.made import SAMPLES

pytest.importorskip("ray")


@pytest.fixture(scope="module")
def cluster():
    reason = why_not()
    if reason:
        pytest.skip(reason)
    with Loopback() as started:
        yield started


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Library:
    folder = tmp_path_factory.mktemp("library")
    made = library(folder / "files", {"a.pdf": 6, "b.pdf": 9, "c.pdf": 1, "d.pdf": 12}).written()
    (made.folder / "broken.pdf").write_bytes(b"%PDF-1.7 no more than that")
    return made


@pytest.fixture(scope="module")
def local(files, tmp_path_factory):
    """What an index made here holds."""
    folder = tmp_path_factory.mktemp("local") / "index"
    with Index.create(folder, encoder=WordEncoder()) as index:
        index.add(files.folder)
    return contents_of(folder)


def stored(folder: Path) -> list[PackedPage]:
    with Index.open(folder) as index:
        assert index.verify() == []
        return [PackedPage.of(index.page(*name)) for name in index.pages()]


def test_the_command_makes_the_same_index_bit_for_bit(cluster, tmp_path):
    command = ("-m", "docpruner", "index", tmp_path / "there", SAMPLES, "--json", "--ray")
    with Index.create(tmp_path / "here") as index:
        local = index.add(SAMPLES)
    done = cluster.python(*command, cluster.address)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert stored(tmp_path / "there") == stored(tmp_path / "here")
    assert (report["pages"], report["documents"]) == (local.pages, dict(local.documents))
    assert (report["vectors"], report["bytes"]) == (local.vectors, local.bytes)
    assert report["without_words"] == local.without_words
    shares = [json.loads(line).get("share") for line in done.stdout.splitlines()[:-1]]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    again = cluster.python(*command, cluster.client_address)
    assert json.loads(again.stdout.splitlines()[-1])["documents"] == {
        "unchanged": local.documents.total()
    }


@pytest.mark.parametrize("scheme", ["", "turns://"])
def test_a_pipeline_of_ray_data_makes_the_same_index(cluster, files, local, tmp_path, scheme):
    """Also where the workers store what they make."""
    there = tmp_path / "there"
    program = ("-m", "integrations.ray_pipeline", cluster.address, f"{scheme}{there}")
    done = cluster.python(*program, files.folder)
    assert done.returncode == 0, done.stderr
    assert "left out" in done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "asked": 28, "pages": 28, "documents": {"added": 4}, "problems": [],
    }  # fmt: skip
    assert contents_of(there) == local
    with Index.open(there) as index:
        assert index.verify() == []
    if not scheme:
        again = cluster.python(*program, files.folder)
        assert json.loads(again.stdout.splitlines()[-1]) == {"asked": 0}


@pytest.fixture
def at_s3(cluster, files, tmp_path):
    """Where the files lie on a real S3 server beside the cluster."""
    pytest.importorskip("pyarrow")
    (tmp_path / "s3").mkdir()
    program = (sys.executable, "-m", "integrations.files_at_s3", files.folder, tmp_path / "s3")
    with cluster.popen(*program, stdin=subprocess.PIPE) as process:
        if process.stdout.readline() != "ready\n":
            pytest.fail(process.stderr.read())
        yield "s3://bucket/files"
        process.stdin.close()


def test_files_at_urls_make_the_same_pages(cluster, files, at_s3, tmp_path):
    command = ("-m", "docpruner", "index", tmp_path / "there", at_s3, "--json", "--ray")
    with Index.create(tmp_path / "here") as index:
        index.add(files.folder)
    done = cluster.python(*command, cluster.address)
    assert done.returncode == 3, done.stderr  # one of the files is broken
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["documents"] == {"added": 4}
    assert f"{at_s3}/broken.pdf" in done.stdout
    assert [page.vectors for page in stored(tmp_path / "there")] == [
        page.vectors for page in stored(tmp_path / "here")
    ]
    with Index.open(tmp_path / "there") as index:
        assert {document.name for document in index.documents()} == {
            f"{at_s3}/{name}.pdf" for name in "abcd"
        }
    again = cluster.python(*command, cluster.address)
    assert json.loads(again.stdout.splitlines()[-1])["documents"]["unchanged"] == 4


def test_nobody_outside_sees_the_cluster(cluster):
    listening = subprocess.run(["ss", "-ltnp"], capture_output=True, text=True, check=False).stdout
    assert not any(f"pid={pid}," in listening for pid in cluster.pids())


def test_an_address_where_nobody_is_fails_within_seconds(tmp_path):
    began = time.monotonic()
    done = docpruner("index", str(tmp_path / "new"), str(SAMPLES), "--ray", "127.0.0.1:9")
    assert done.returncode == 1
    assert "no Ray cluster answers at 127.0.0.1:9" in done.stderr
    assert "ray start --head" in done.stderr
    assert time.monotonic() - began < 15
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("address", ["nonsense", "http://host:80", "host:many", "ray://:10001"])
def test_what_is_no_address_is_an_error(address):
    with pytest.raises(ClusterError, match="is no address of a Ray cluster"):
        joined(address)


def test_without_ray_the_command_says_how_to_get_it(tmp_path):
    program = (
        "import importlib.util as u, sys\n"
        "from docpruner.cli import main\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'ray' else find(name, *rest)\n"
        f"sys.argv = ['docpruner', 'index', {str(tmp_path / 'new')!r}, {str(SAMPLES)!r}, '--ray']\n"
        "main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert 'pip install "docpruner[ray]"' in done.stderr


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["x.idx", "files", "--ray"], ["x.idx", "files", "--ray", "auto"]),
        (["x.idx", "--ray", "files"], ["x.idx", "--ray", "auto", "files"]),
        (["--ray", "--json", "x"], ["--ray", "auto", "--json", "x"]),
        (["--ray", "ray://head:10001", "x"], ["--ray", "ray://head:10001", "x"]),
        (["--ray", "10.0.0.1:6379"], ["--ray", "10.0.0.1:6379"]),
        (["--ray", "[fe80::1]:6379"], ["--ray", "[fe80::1]:6379"]),
        (["--ray", "auto", "x"], ["--ray", "auto", "x"]),
        (["--ray=auto", "x"], ["--ray=auto", "x"]),
        (["--", "--ray"], ["--", "--ray"]),
    ],
)
def test_the_address_may_be_left_out(given, meant):
    assert _with_address(given) == meant


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ray-workers", "2"], "--ray-workers and --ray-gpus are for --ray"),
        (["--ray-gpus", "1"], "--ray-workers and --ray-gpus are for --ray"),
        (["--ray", "--devices", "cpu,cpu"], "give one of --ray and --devices"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message, tmp_path):
    done = docpruner("index", str(tmp_path / "new"), str(SAMPLES), *options)
    assert done.returncode == 1
    assert message in done.stderr
    assert not (tmp_path / "new").exists()
