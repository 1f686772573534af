"""A bundle made smaller, with less text, smaller arrays and fewer arguments, while the compiler fails in the same way."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from polyml.bundles.bundle import Bundle, BundledArgument
from polyml.defects.shrink import shrink, smaller_sources
from polyml.reading.userfiles import write_text

SECONDS = 60  # one variant runs at most so long, in a process of its own
_NAMES = re.compile(r"'[^']*'|`[^`]*`|[0-9]+")


def reduced(given: Bundle, tried: Callable[[int], None] = lambda count: None, budget: int = 300) -> Bundle | None:
    """Returns a smaller bundle (a recorded failure of the compiler) that fails in the same way; None where the given one does not
    fail.

    Every variant is run in a process of its own.

    tried: called with the number of variants that have been tried, after each one.
    budget: how many variants are tried at most.
    """
    wanted, count = failure(given), 0
    if not wanted:
        return None

    def fails(smaller: Bundle) -> bool:
        nonlocal count
        count += 1
        tried(count)
        return failure(smaller) == wanted

    return shrink(given, _variants, fails, budget)


def failure(bundle: Bundle) -> str:
    """Runs a bundle in a new process and returns how it fails: two bundles fail in the same way where this text is the same.

    It is "signal 11" and the like where a signal ends the process, "no end" where it takes over a minute, the type and first line
    of a CompileError or IllegalSchedule with names and numbers removed, and "" where the bundle does not fail.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / bundle.file
        write_text(path, bundle.text())
        command = [sys.executable, "-W", "ignore", "-c", _CHILD, str(path)]
        try:
            ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return "no end"
    if ended.returncode < 0:
        return f"signal {-ended.returncode}"
    found = [line for line in ended.stdout.splitlines() if line.startswith("failed: ")]
    return _NAMES.sub("..", found[0].removeprefix("failed: ")) if found else ""


_CHILD = """
import sys
from polyml.bundles.bundle import read
from polyml.defects.repeat import repeat
from polyml.errors import CompileError, IllegalSchedule
problem = repeat(read(sys.argv[1]))
if isinstance(problem, (CompileError, IllegalSchedule)):
    print("failed:", type(problem).__name__, problem.message.splitlines()[0])
"""


def _variants(bundle: Bundle) -> Iterator[Bundle]:
    """Yields every bundle that is one step smaller: with less source, fewer arguments or settings, or smaller arguments."""
    bundle = replace(bundle, stages=())
    for source in smaller_sources(bundle.source):
        if any(isinstance(s, ast.FunctionDef) and s.name == bundle.function for s in ast.parse(source).body):
            yield replace(bundle, source=source)
    yield from _without_arguments(bundle)
    for name in bundle.settings:
        yield replace(bundle, settings={key: value for key, value in bundle.settings.items() if key != name})
    for place, value in enumerate(bundle.values):
        for smaller in _smaller(value):
            yield replace(bundle, values=(*bundle.values[:place], smaller, *bundle.values[place + 1 :]))
    for length in sorted({length for value in bundle.values for length in value.shape or ()}):
        for less in sorted({2, length // 2, length - 1}):
            if 0 < less < length:
                yield replace(bundle, values=tuple(value.with_lengths({length: less}) for value in bundle.values))


def _without_arguments(bundle: Bundle) -> Iterator[Bundle]:
    """Yields, for each argument that the function does not use, the bundle without that argument."""
    tree = ast.parse(bundle.source)
    (function,) = (s for s in tree.body if isinstance(s, ast.FunctionDef) and s.name == bundle.function)
    used = {node.id for statement in function.body for node in ast.walk(statement) if isinstance(node, ast.Name)}
    arguments = function.args.args
    for place, value in enumerate(bundle.values):
        if value.name not in used and len(arguments) == len(bundle.values) and not function.args.defaults:
            function.args.args = [*arguments[:place], *arguments[place + 1 :]]
            yield replace(bundle, source=ast.unparse(tree) + "\n", values=(*bundle.values[:place], *bundle.values[place + 1 :]))


def _smaller(value: BundledArgument) -> Iterator[BundledArgument]:
    if value.layout != "C":
        yield replace(value, layout="C")
    if value.number not in (None, 0, 1):
        yield replace(value, number=1)
