"""How many cores there are to work with, by the files in which Linux says it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from docpruner import cores
from docpruner.cores import cpu_quota, usable_cores


def machine(folder: Path, groups: str, **files: str) -> tuple[str, str]:
    """Control groups; `__` in a name is a folder, `_DOT_` a dot."""
    own = folder / "cgroup-of-the-process"
    own.write_text(groups)
    for name, content in files.items():
        path = folder / "cgroup" / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return str(folder / "cgroup"), str(own)


@pytest.mark.parametrize(
    ("groups", "files", "quota"),
    [
        ("0::/\n", {"cpu_DOT_max": "200000 100000\n"}, 2.0),
        ("0::/\n", {"cpu_DOT_max": "max 100000\n"}, None),
        ("0::/a/b\n", {"a__b__cpu_DOT_max": "max 100000\n", "a__cpu_DOT_max": "50000 100000"}, 0.5),
        ("0::/host/path\n", {"cpu_DOT_max": "150000 100000\n"}, 1.5),  # as a container sees it
        (
            "4:memory:/x\n2:cpu,cpuacct:/x\n",
            {
                "cpu,cpuacct__x__cpu_DOT_cfs_quota_us": "300000\n",
                "cpu,cpuacct__x__cpu_DOT_cfs_period_us": "100000\n",
            },
            3.0,
        ),
        (
            "1:cpu:/\n0::/\n",
            {"cpu__cpu_DOT_cfs_quota_us": "-1\n", "cpu__cpu_DOT_cfs_period_us": "100000\n"},
            None,
        ),
        ("0::/\n", {"cpu_DOT_max": "nonsense"}, None),
        ("nonsense\n\n0::/\n", {"cpu_DOT_max": "100000 0"}, None),
        ("4:cpuset:/x\n", {"cpuset__x__cpu_DOT_max": "100000 100000"}, None),
        ("", {}, None),
    ],
)
def test_the_quota_is_the_least_of_the_groups_around_the_process(tmp_path, groups, files, quota):
    assert cpu_quota(*machine(tmp_path, groups, **files)) == quota


def test_without_control_groups_there_is_no_quota(tmp_path):
    assert cpu_quota(str(tmp_path / "none"), str(tmp_path / "none")) is None


@pytest.mark.parametrize(("quota", "usable"), [(0.25, 1), (1.0, 1), (1.5, 2), (1000.0, None)])
def test_cores_are_as_many_as_there_is_time_for_and_at_least_one(monkeypatch, quota, usable):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(cores, "cpu_quota", lambda: quota)
    here = len(os.sched_getaffinity(0))
    assert usable_cores() == (here if usable is None else min(usable, here))


@pytest.mark.parametrize(("told", "usable"), [("1", 1), ("1,4", 1), ("9999", None), ("many", None)])
def test_cores_are_no_more_than_other_libraries_are_told_to_use(monkeypatch, told, usable):
    monkeypatch.setenv("OMP_NUM_THREADS", told)
    monkeypatch.setattr(cores, "cpu_quota", lambda: None)
    assert usable_cores() == (usable or len(os.sched_getaffinity(0)))
