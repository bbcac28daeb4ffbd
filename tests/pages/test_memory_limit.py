"""How much memory reading may take: what the machine or its container allows, within bounds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from docpruner.pages import memory_limit
from docpruner.pages.memory_limit import cgroup_limits, default_limit, machine_memory, readable_size
from pages.processes import proc

GB = 1 << 30


def limit_file(root: Path, name: str, limit: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(limit + "\n")


def test_the_limits_of_a_cgroup_and_of_those_above_it_count(tmp_path):
    limit_file(tmp_path, "memory.max", "max")
    limit_file(tmp_path, "user/memory.max", "3000")
    limit_file(tmp_path, "user/job/memory.max", "5000")
    assert set(cgroup_limits("0::/user/job\n", tmp_path)) == {3000, 5000}


def test_old_cgroups_have_a_folder_for_memory(tmp_path):
    limit_file(tmp_path, "memory/job/memory.limit_in_bytes", "7000")
    limit_file(tmp_path, "cpu/job/memory.limit_in_bytes", "1")
    assert list(cgroup_limits("4:cpuacct,memory:/job\n3:cpu:/job\n", tmp_path)) == [7000]


def test_a_container_may_not_see_the_folder_of_its_cgroup(tmp_path):
    limit_file(tmp_path, "memory.max", "4000")
    assert list(cgroup_limits("0::/docker/5f3a\n", tmp_path)) == [4000]


def test_no_machine_is_taken_for_larger_than_it_is():
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < machine_memory() <= physical


@pytest.mark.parametrize(
    ("machine", "limit"), [(1 * GB, GB // 2), (8 * GB, 2 * GB), (64 * GB, 4 * GB)]
)
def test_the_default_is_a_quarter_of_the_machine_within_bounds(monkeypatch, machine, limit):
    monkeypatch.setattr(memory_limit, "machine_memory", lambda: machine)
    assert default_limit(ocr=False) == limit
    assert default_limit(ocr=True) == limit + GB


def test_sizes_are_told_in_round_numbers():
    assert [readable_size(size) for size in (400 << 20, 2 * GB, 3 * GB // 2)] == [
        *("400 MB", "2 GB", "1.5 GB")
    ]


@proc
@pytest.mark.parametrize(("megabytes", "code"), [(50, 0), (300, memory_limit.EXIT_CODE)])
def test_a_process_ends_when_it_takes_too_much(megabytes, code):
    program = (
        "import sys, time; from docpruner.pages.memory_limit import limit_own_memory\n"
        "limit_own_memory(200 << 20, ocr=True)\n"
        f"taken = bytearray(b'x') * ({megabytes} << 20); time.sleep(0.5)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == code


def test_without_proc_the_address_space_is_limited():
    """The program itself has some 100 MB of addresses, and asks for 2 GB more."""
    program = (
        "from pathlib import Path; from docpruner.pages import memory_limit\n"
        "memory_limit.STATM = Path('nowhere')\n"
        "memory_limit.limit_own_memory(1 << 30, ocr=False)\n"
        "try: bytearray(2 << 30)\n"
        "except MemoryError: print('refused')\n"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout
    assert printed == "refused\n"
