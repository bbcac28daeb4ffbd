"""Every way in which checkpoints are published: adapters, revisions, caches, exports, widths."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("colpali_engine", reason="needs the vlm extra: pip install 'docpruner[vlm]'")

import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from docpruner import Index
from docpruner.encoders import load_encoder
from docpruner.encoders.registry import EncoderName
from docpruner.errors import EncoderError, IndexStateError

from . import tiny
from .hub_cache import commit_of, offline, put
from .test_encoders import PAGES, QUERIES

# transformers itself, when it prepares a page for PaliGemma
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

BASE, OLD, NEW = commit_of("base"), commit_of("old"), commit_of("new")


def page_of(name: str) -> np.ndarray:
    (page,) = load_encoder(name).encode_pages(PAGES[:1])
    return page.vectors


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base and two adapters of it that differ, which call it by its name on the Hub."""
    root = tmp_path_factory.mktemp("published")
    tiny.build("ColQwen2_5", root / "base")
    for seed, name in ((1, "old"), (2, "new")):
        tiny.build_adapter("ColQwen2_5", root / "base", root / name, seed=seed)
    return root


@pytest.fixture(scope="module")
def cache(folders: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`some/adapter` with a tag for its first commit, and `some/base`."""
    cache = tmp_path_factory.mktemp("hub")
    put(cache, "some/base", folders / "base", commit=BASE, branch="main")
    for name, commit, branch in (("old", OLD, "v1"), ("new", NEW, "main")):
        copy = tmp_path_factory.mktemp(name) / "adapter"
        shutil.copytree(folders / name, copy)
        point_to("some/base", copy)
        put(cache, "some/adapter", copy, commit=commit, branch=branch)
    return cache


def point_to(base: str, adapter: Path, **more: str) -> None:
    file = adapter / "adapter_config.json"
    settings = json.loads(file.read_text())
    file.write_text(json.dumps({**settings, "base_model_name_or_path": base, **more}))


def test_what_hf_download_left_is_used_without_a_network(folders, cache):
    with offline(cache):
        encoder = load_encoder("some/adapter")
    assert encoder.name == f"some/adapter@{NEW}:base={BASE}"
    (page,) = encoder.encode_pages(PAGES[:1])
    assert np.array_equal(page.vectors, page_of(str(folders / "new")))


def test_the_environments_offline_mode_is_enough(cache, tmp_path):
    script = (
        "import encoders.conftest; from docpruner.encoders import load_encoder;"
        "print(load_encoder('some/adapter').name)"
    )
    settings = {"HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(cache), "HF_HOME": str(tmp_path)}
    path = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **settings, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == f"some/adapter@{NEW}:base={BASE}", done.stderr


@pytest.mark.parametrize("revision", ["v1", OLD])
def test_an_adapters_revision_is_not_its_bases(folders, cache, revision):
    with offline(cache):
        encoder = load_encoder(f"some/adapter@{revision}")
    assert encoder.name == f"some/adapter@{OLD}:base={BASE}"
    (page,) = encoder.encode_pages(PAGES[:1])
    assert np.array_equal(page.vectors, page_of(str(folders / "old")))
    assert not np.allclose(page.vectors, page_of(str(folders / "new")), atol=1e-3)


def test_the_commit_of_its_base_that_an_adapter_names_counts(folders, cache, tmp_path):
    shutil.copytree(folders / "new", tmp_path / "adapter")
    point_to("some/base", tmp_path / "adapter", revision="0" * 40)
    with offline(cache), pytest.raises(EncoderError, match=r"some/base@0{40} has no config\.json"):
        load_encoder(str(tmp_path / "adapter"))
    with offline(cache):  # unless the name says another
        encoder = load_encoder(f"{tmp_path / 'adapter'}:base={BASE}")
    assert encoder.name == f"{tmp_path / 'adapter'}:base={BASE}"


def test_a_whole_model_of_the_hub_is_named_by_its_commit(cache):
    with offline(cache):
        assert load_encoder("some/base").name == f"some/base@{BASE}"


def test_what_is_not_in_the_cache_says_what_to_run(cache):
    with offline(cache), pytest.raises(EncoderError, match="run: hf download some/other"):
        load_encoder("some/other")
    with offline(cache), pytest.raises(EncoderError, match="hf download some/base --revision v7"):
        load_encoder("some/base@v7")


def test_two_revisions_cannot_mix_in_one_index(cache, tmp_path):
    with offline(cache):
        old, new = load_encoder("some/adapter@v1"), load_encoder("some/adapter")
        Index.create(tmp_path / "my.idx", encoder=old).close()
        with Index.open(tmp_path / "my.idx") as index:
            assert index.encoder.name == old.name
        with pytest.raises(IndexStateError, match="vectors of two encoders can't be compared"):
            Index.open(tmp_path / "my.idx", encoder=new)
        with pytest.raises(IndexStateError, match="encoder"):
            Index.open_or_create(tmp_path / "my.idx", encoder=f"some/adapter@{NEW}")
        Index.open_or_create(tmp_path / "my.idx", encoder="some/adapter").close()


def test_an_index_from_before_commits_were_stored_still_opens():
    stored = EncoderName.read("some/adapter:prompt=noise-filtering")
    loaded = EncoderName.read(
        f"some/adapter@{NEW}:base={BASE},dtype=bfloat16,prompt=noise-filtering"
    )
    assert stored.agrees_with(loaded)
    assert loaded.agrees_with(stored)
    assert not EncoderName.read(f"some/adapter@{OLD}").agrees_with(loaded)
    assert not EncoderName.read("some/adapter").agrees_with(loaded)  # another prompt


def test_a_folder_called_like_a_repository_does_not_win(folders, cache, tmp_path, monkeypatch):
    shutil.copytree(folders / "base", tmp_path / "some" / "adapter")
    monkeypatch.chdir(tmp_path)
    with offline(cache), pytest.warns(UserWarning, match=r"for the folder write \./some/adapter"):
        encoder = load_encoder("some/adapter")
    assert encoder.name == f"some/adapter@{NEW}:base={BASE}"
    assert load_encoder("./some/adapter").name == str(tmp_path / "some" / "adapter")
    with (
        offline(tmp_path / "empty"),
        pytest.warns(UserWarning, match="is taken for the repository"),
        pytest.raises(EncoderError, match=r"For the folder of that name, write \./some/adapter"),
    ):
        load_encoder("some/adapter")


def test_a_folder_called_builtin_does_not_win(folders, tmp_path, monkeypatch):
    shutil.copytree(folders / "base", tmp_path / "builtin")
    monkeypatch.chdir(tmp_path)
    assert EncoderName.read("builtin").is_builtin
    assert load_encoder("./builtin").name == str(tmp_path / "builtin")


def test_precision_stands_in_the_name(folders):
    encoder = load_encoder(str(folders / "base"), dtype="bfloat16")
    assert encoder.name == f"{folders / 'base'}:dtype=bfloat16"
    assert load_encoder(encoder.name, device="cpu").model.dtype == torch.float32
    assert load_encoder(encoder.name, dtype="bfloat16").name == encoder.name


def test_an_adapter_may_have_a_configuration_beside_it(folders, tmp_path):
    shutil.copytree(folders / "new", tmp_path / "adapter")
    shutil.copy(folders / "base" / "config.json", tmp_path / "adapter")
    assert np.array_equal(page_of(str(tmp_path / "adapter")), page_of(str(folders / "new")))


def test_an_adapter_among_whole_weights_is_refused(folders, tmp_path):
    shutil.copytree(folders / "base", tmp_path / "both")
    shutil.copytree(folders / "new", tmp_path / "both", dirs_exist_ok=True)
    with pytest.raises(EncoderError, match="both holds a whole model and an adapter"):
        load_encoder(str(tmp_path / "both"))


def test_an_adapter_without_a_processor_has_its_bases(folders, tmp_path):
    (tmp_path / "adapter").mkdir()
    for file in ("adapter_config.json", "adapter_model.safetensors"):
        shutil.copy(folders / "new" / file, tmp_path / "adapter")
    assert np.array_equal(page_of(str(tmp_path / "adapter")), page_of(str(folders / "new")))


@pytest.mark.parametrize("family", ["ColQwen3", "ColPali", "ColIdefics3"])
def test_a_projection_has_the_width_that_the_file_says(tmp_path, family):
    tiny.build(family, tmp_path / "wide")
    file = tmp_path / "wide" / "model.safetensors"
    tensors = load_file(file)
    projection = "linear." if family == "ColIdefics3" else "custom_text_proj."
    for name in [name for name in tensors if projection in f"{name}." and "layers" not in name]:
        tensors[name] = tensors[name][:48].contiguous()
    save_file(tensors, file, metadata={"format": "pt"})
    encoder = load_encoder(str(tmp_path / "wide"))
    (page,) = encoder.encode_pages(PAGES[:1])
    assert encoder.dim == page.dim == 48
    full = tmp_path / "full"
    tiny.build(family, full)
    model, processor = tiny.load(family, full)
    with torch.no_grad():
        wide = model(**processor.process_images([PAGES[0].render()]))[0, :, :48]
    wide = (wide / wide.norm(dim=-1, keepdim=True)).numpy()  # the same rows of the projection
    assert page.vectors == pytest.approx(wide, abs=1e-5)
    assert encoder.encode_queries(QUERIES)[0].shape[1] == 48


def test_an_adapter_of_a_narrow_base_loads(tmp_path):
    tiny.build("ColQwen2_5", tmp_path / "base")
    tiny.build_adapter("ColQwen2_5", tmp_path / "base", tmp_path / "adapter")
    for file, part in (("base/model", "custom_text_proj."), ("adapter/adapter_model", "lora_B")):
        path = tmp_path / f"{file}.safetensors"
        tensors = load_file(path)
        for name in tensors:
            if "custom_text_proj" in name and part in name:
                tensors[name] = tensors[name][:48].contiguous()
        save_file(tensors, path, metadata={"format": "pt"})
    encoder = load_encoder(str(tmp_path / "adapter"))
    assert encoder.dim == encoder.encode_pages(PAGES[:1])[0].dim == 48


def test_pictures_can_be_searched_by_a_cached_adapter(cache, tmp_path):
    with offline(cache), Index.create(tmp_path / "my.idx", encoder="some/adapter") as index:
        index.add_images([Image.effect_noise((300, 200), 80)])
        assert len(index.search("revenue")) == 1
    with offline(cache), Index.open(tmp_path / "my.idx") as index:
        assert index.settings.encoder == f"some/adapter@{NEW}:base={BASE}"
        assert len(index.search("revenue")) == 1
