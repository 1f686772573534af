"""Oclgrind finds what is planted, and nothing else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.opencl import oclgrind
from tests.opencl.test_opencl import pytestmark as on_devices

LIBRARY = Path("/usr/lib/oclgrind/liboclgrind-rt-icd.so")
pytestmark = [on_devices, pytest.mark.skipif(not LIBRARY.exists(), reason="there is no Oclgrind")]


def problem(tmp_path, *given):
    (tmp_path / "oclgrind.icd").write_text(f"{LIBRARY}\n")
    return oclgrind._problem(str(tmp_path), ["--tile", "4,4,2,2", *given])


def test_a_product_of_matrices_has_no_race(tmp_path):
    assert problem(tmp_path, "--loops", "gemm") == ""


@pytest.mark.parametrize("barrier", [0, 1])
@pytest.mark.parametrize("name", ["gemm", "syr2k"])
def test_a_barrier_that_is_left_out_is_found(tmp_path, name, barrier):
    assert "data race" in problem(tmp_path, "--loops", name, "--without-barrier", str(barrier))


@pytest.mark.parametrize("name", ["transposed", "turned"])
def test_a_box_with_its_halo_is_copied_without_a_race(tmp_path, name):
    assert problem(tmp_path, "--footprint", name) == ""
    assert " reports" in problem(tmp_path, "--footprint", name, "--without-barrier", "0")


def test_a_barrier_that_there_is_not_is_said_so():
    ran = subprocess.run(
        [sys.executable, "-m", "tests.opencl", "--loops", "jacobi_2d", "--without-barrier", "0"],
        capture_output=True,
        text=True,
        env=os.environ,
    )
    assert "there are 0 barriers" in ran.stdout


@pytest.mark.parametrize("teams", ["team", "split"])
def test_threads_that_share_loops_have_no_race(tmp_path, teams):
    assert problem(tmp_path, "--loops", "atax", "--teams", teams) == ""


def test_a_barrier_between_partial_results_that_is_left_out_is_found(tmp_path):
    told = problem(tmp_path, "--loops", "atax", "--teams", "team", "--without-barrier", "0")
    assert "Uninitialized" in told or "data race" in told  # a partial result is read before it is written
