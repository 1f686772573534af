"""What installing polyml puts into site-packages."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import polyml
from polyml import kernels

ROOT = Path(polyml.__file__).parent.parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The tree that setuptools makes of the checkout: what a wheel holds, without the metadata."""
    pytest.importorskip("setuptools")
    folder = tmp_path_factory.mktemp("site-packages")
    build = [sys.executable, "-c", "import setuptools; setuptools.setup()", "-q", "build_py", "--build-lib", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return folder


def python(folder: Path, code: str, cwd: Path) -> str:
    """What `code` prints where polyml is the one in `folder`."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run([sys.executable, "-c", code], env=environment, cwd=cwd, check=True, capture_output=True, text=True).stdout


def test_polyml_is_the_only_name_at_the_top(installed):
    assert [path.name for path in installed.iterdir()] == ["polyml"]


def test_every_module_and_every_file_beside_them_is_installed(installed):
    folders = {ROOT / "polyml": "", ROOT / "kernels": "kernels"}
    files = ((Path(name) / p.relative_to(top), p) for top, name in folders.items() for p in top.rglob("*"))
    expected = {name for name, path in files if path.is_file() and path.suffix != ".pyc"}
    found = {path.relative_to(installed / "polyml") for path in installed.rglob("*") if path.is_file()}
    assert found == expected


def test_the_kernels_are_a_part_of_the_package(installed, tmp_path):
    code = "from polyml import kernels; b = kernels.load('gemm'); print(kernels.__file__, b.kernel.py_func.__module__, len(kernels.NAMES))"
    file, module, count = python(installed, code, tmp_path).split()
    assert (Path(file).parent, module, int(count)) == (installed / "polyml" / "kernels", "polyml.kernels.gemm", 30)
    code = "from polyml.kernels.arrays import workloads; print(workloads()['softmax'].function.__module__)"
    assert python(installed, code, tmp_path) == "polyml.kernels.arrays.neural\n"


def test_in_a_checkout_they_have_the_same_name_and_stand_at_the_top():
    assert kernels.__name__ == "polyml.kernels"
    assert Path(kernels.__file__).resolve() == ROOT / "kernels" / "__init__.py"
