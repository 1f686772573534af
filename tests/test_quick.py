"""The quick tests touch every package, and name files and tests that there are."""

from pathlib import Path

from tests.codebase import ROOT
from tests.quick import QUICK

TESTS = Path(__file__).parent


def test_every_file_and_every_test_is_there():
    for file, _, test in (name.partition("::") for name in sorted(QUICK)):
        assert (TESTS / file).is_file(), file
        assert not test or f"def {test}(" in (TESTS / file).read_text(), (file, test)


def test_every_package_has_a_quick_test():
    packages = {p.name for p in ROOT.iterdir() if p.is_dir() and (p / "__init__.py").exists()}
    tested = {name.split("/")[0] for name in QUICK}
    assert packages - tested == set()
