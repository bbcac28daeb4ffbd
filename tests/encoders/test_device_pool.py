"""An encoder on several devices: here each is a process on the CPU."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("colpali_engine", reason="needs the vlm extra: pip install 'docpruner[vlm]'")

from PIL import Image

import docpruner
from cli_process import docpruner as docpruner_command
from docpruner import Index
from docpruner.encoders import load_encoder
from docpruner.encoders.model_options import ModelOptions, read_devices
from docpruner.encoders.steps import EncodesInSteps
from docpruner.errors import DeviceError, EncoderError

from . import tiny

SAMPLES = Path(docpruner.__file__).parent / "samples"
PAGES = [
    Image.new("RGB", (300, 400 - 20 * place), colour)
    for place, colour in enumerate(["white", "navy", "teal", "olive", "maroon"])
]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint")
    tiny.build("ColQwen2_5", folder)
    return str(folder)


@pytest.fixture(autouse=True)
def _processes_import_torchvision(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "torchvision_on_cpu"))


@pytest.fixture
def pool(checkpoint):
    made = ModelOptions(devices=("cpu", "cpu")).load(checkpoint)
    yield made
    made.close()


def test_two_processes_give_what_one_encoder_gives(pool, checkpoint):
    alone = load_encoder(checkpoint)
    assert isinstance(pool, EncodesInSteps)
    about = ("name", "dim", "prompt", "reads", "pixels", "batch_size")
    assert [getattr(pool, key) for key in about] == [getattr(alone, key) for key in about]
    for one, other in zip(pool.encode_pages(PAGES), alone.encode_pages(PAGES), strict=True):
        assert (one.name, one.grid) == (other.name, other.grid)
        assert one.vectors == pytest.approx(other.vectors, abs=1e-5)
        assert one.importance == pytest.approx(other.importance, abs=1e-6)
    (query,), (expected,) = pool.encode_queries(["total"]), alone.encode_queries(["total"])
    assert query == pytest.approx(expected, abs=1e-5)
    assert pool.query_words("total") == alone.query_words("total")


def test_both_work_at_the_same_time(pool):
    pending = [pool.run(pool.prepare([page])) for page in PAGES[:2]]
    assert [len(worker) for worker in pool._workers] == [1, 1]
    assert [page.name for collect in pending for page in collect()] == ["image 0", "image 0"]


def test_an_index_made_by_two_holds_what_one_made(pool, checkpoint, tmp_path):
    with (
        Index.create(tmp_path / "one", encoder=checkpoint) as one,
        Index.create(tmp_path / "two", encoder=pool) as two,
    ):
        report = two.add(SAMPLES / "annual-report.pdf")
        assert (report.pages, report.problems) == (13, [])
        one.add(SAMPLES / "annual-report.pdf")
        assert one.pages() == two.pages()
        for name in one.pages():
            first, second = one.page(*name), two.page(*name)
            assert np.array_equal(first.provenance.sources, second.provenance.sources)
            assert first.vectors.decode() == pytest.approx(second.vectors.decode(), abs=0.02)


def test_a_page_that_fails_in_its_process_fails_alone(pool, tmp_path):
    Image.new("RGB", (6000, 20)).save(tmp_path / "strip.png")
    Image.new("RGB", (300, 200)).save(tmp_path / "good.png")
    with Index.create(tmp_path / "index", encoder=pool) as index:
        report = index.add([tmp_path / "strip.png", tmp_path / "good.png"])
    (problem,) = report.problems
    assert "can't be prepared" in str(problem)
    assert report.pages == 1


def test_a_killed_process_is_a_clear_error_and_nothing_committed_is_lost(pool, tmp_path):
    with Index.create(tmp_path / "index", encoder=pool) as index:
        index.add(SAMPLES / "travel-expense-form.pdf")
        os.kill(pool._workers[0].pid, signal.SIGKILL)
        with pytest.raises(DeviceError, match=r"process on cpu has ended \(signal 9\).*run the"):
            index.add(SAMPLES / "annual-report.pdf")
        assert 2 <= len(index) < 15
        assert index.verify() == []
    assert not [each for each in threading.enumerate() if each.name.startswith("docpruner-")]
    with Index.open(tmp_path / "index") as index:
        index.add([SAMPLES / "annual-report.pdf", SAMPLES / "travel-expense-form.pdf"])
        assert len(index) == 15


def test_what_cannot_be_loaded_is_said_and_no_process_stays(tmp_path):
    with pytest.raises(EncoderError, match=r"has no config\.json"):
        ModelOptions(devices=("cpu", "cpu")).load(str(tmp_path))


def test_the_command_takes_all_options_of_a_model(checkpoint, tmp_path):
    found = os.pathsep.join(sys.path)
    options = ["--dtype", "float32", "--batch-size", "2", "--attention", "eager"]
    more = ["--max-visual-tokens", "40", "--devices", "cpu,cpu"]
    index, file = str(tmp_path / "index"), str(SAMPLES / "travel-expense-form.pdf")
    done = docpruner_command(
        *("index", index, file, "--encoder", checkpoint, *options, *more), env={"PYTHONPATH": found}
    )
    assert done.returncode == 0, done.stderr
    with Index.open(index) as opened:
        assert opened.settings.encoder == f"{checkpoint}:max_visual_tokens=40"
        assert len(opened) == 2
        assert all(opened.page(*name).patches <= 40 for name in opened.pages())


def test_devices_are_read_from_text():
    assert read_devices("0, 1") == ("cuda:0", "cuda:1")
    assert read_devices("cpu,cpu") == ("cpu", "cpu")
    with pytest.raises(EncoderError, match="'0,' is not a list of devices"):
        read_devices("0,")
    with pytest.raises(EncoderError, match="give one of device and devices"):
        ModelOptions(device="cpu", devices=("cpu",)).load("a/b")
