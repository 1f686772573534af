"""What every test has: a defect of the compiler is an error, not a simpler form; of a sweep, a part is run.

`@pytest.mark.sweep("function")` marks a test with more cases than a change needs: for each value of its parameter `function` one case
is run, always the same one, `keep=3` of them where it says so (0: none), and all of them with `--sweeps`. Of cases whose names
have one of `long=("fdtd", "[1]")` in them none is run but with `--sweeps`.

Where PYTHONDONTWRITEBYTECODE is set, the bytecode of polyml is kept in a folder of the session: hundreds of tests start processes, each of
which would compile all its modules for half a second.

`-m quick` runs the files and tests of `tests/quick.py` alone: some of every package, in less than a minute.
"""

import os
import shutil
import tempfile
import zlib
from collections import defaultdict

import pytest

from tests.quick import QUICK

os.environ.pop("COLUMNS", None)  # pytest-xdist sets it for its workers, and commands fold what they print to it

os.environ.setdefault("POLYML_ON_DEFECT", "raise")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--sweeps", action="store_true", help="run every case of the sweeps, not a fixed part of them")


def pytest_configure(config: pytest.Config) -> None:
    if os.environ.pop(
        "PYTHONDONTWRITEBYTECODE", ""
    ):  # by which pytest-xdist's workers, which inherit what follows, do not come here
        folder = tempfile.mkdtemp(prefix="polyml-bytecode-")
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    config.addinivalue_line("markers", "quick: listed in tests/quick.py; they touch every package and take less than a minute")
    config.addinivalue_line(
        "markers",
        "sweep(*each, keep=1, long=()): for each value of these parameters `keep` cases are run, of those without these words; all with --sweeps",
    )


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        name = item.nodeid.partition("[")[0].removeprefix("tests/")
        if name in QUICK or name.partition("::")[0] in QUICK:
            item.add_marker("quick")
    if config.getoption("--sweeps"):
        return
    cases, left = defaultdict(list), set()
    for item in items:
        if (mark := item.get_closest_marker("sweep")) is not None:
            if any(word in item.nodeid.partition("[")[1] + item.nodeid.partition("[")[2] for word in mark.kwargs.get("long", ())):
                left.add(id(item))
                continue
            values = tuple(str(item.callspec.params[name]) for name in mark.args)
            cases[item.nodeid.split("[")[0], values].append((zlib.crc32(item.name.encode()), item, mark.kwargs.get("keep", 1)))
    left |= {id(item) for group in cases.values() for _, item, keep in sorted(group, key=lambda each: each[0])[group[0][2] :]}
    if left and len(items) > 1:
        config.hook.pytest_deselected(items=[item for item in items if id(item) in left])
        items[:] = [item for item in items if id(item) not in left]
