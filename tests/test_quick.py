"""The quick tests touch every package, and name files that there are."""

from pathlib import Path

from tests.codebase import ROOT
from tests.quick import QUICK

TESTS = Path(__file__).parent


def test_every_file_is_there():
    assert [name for name in sorted(QUICK) if not (TESTS / name).is_file()] == []


def test_every_package_has_a_quick_test():
    packages = {p.name for p in ROOT.iterdir() if p.is_dir() and (p / "__init__.py").exists()}
    tested = {name.split("/")[0] for name in QUICK}
    assert packages - tested - {"plot"} == set()  # plot is drawn by the tests of reports
