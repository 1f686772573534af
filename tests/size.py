"""How large the package is, and what in it is hard to read:  python -m tests.size [--save]

Prints, beside the figures of the last release, modules and lines of each folder, circles of modules, the longest function, class, module
and list of parameters, and names of classes and modules that occur more than once. The exit status is 1 where modules import one another in a circle. `--save` makes the
present figures those of a release, in tests/data/size.json; `--root FOLDER` measures another copy of the package.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.codebase import ROOT, Codebase

_RELEASE = Path(__file__).parent / "data" / "size.json"
_MANY_PARAMETERS = 6
_LONG_FUNCTION, _LONG_MODULE = 60, 400  # lines


@dataclass(frozen=True)
class Size:
    """What is counted of a package.

    folders: modules and lines of each, the package's own folder as ".". longest_*: lines and name. most_parameters: their number, without
    self and cls, and the function. many_parameters: functions of more than 6. twice_*: names that two or more definitions share.
    circle: the modules of one, in order; empty where there is none.
    """

    folders: Mapping[str, tuple[int, int]]
    circle: tuple[str, ...]
    longest_function: tuple[int, str]
    longest_class: tuple[int, str]
    longest_module: tuple[int, str]
    most_parameters: tuple[int, str]
    long_functions: int
    long_modules: int
    many_parameters: int
    twice_classes: int
    twice_modules: int

    @property
    def modules(self) -> int:
        return sum(modules for modules, _ in self.folders.values())

    @property
    def lines(self) -> int:
        return sum(lines for _, lines in self.folders.values())


def measured(code: Codebase) -> Size:
    """The figures of a package."""
    texts = {name: path.read_text() for name, path in code.modules.items()}
    found = [(name, node) for name, text in texts.items() for node in ast.walk(ast.parse(text))]
    functions = [(name, node) for name, node in found if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    classes = [(name, node) for name, node in found if isinstance(node, ast.ClassDef)]
    parameters = [(_parameters(node), f"{name}.{node.name}") for name, node in functions]
    lines = {name: text.count("\n") for name, text in texts.items()}
    return Size(
        folders=_folders(code, lines),
        circle=_circle(code),
        longest_function=max(_lengths(functions)),
        longest_class=max(_lengths(classes)),
        longest_module=max((n, name) for name, n in lines.items()),
        most_parameters=max(parameters),
        long_functions=sum(n > _LONG_FUNCTION for n, _ in _lengths(functions)),
        long_modules=sum(n > _LONG_MODULE for n in lines.values()),
        many_parameters=sum(n > _MANY_PARAMETERS for n, _ in parameters),
        twice_classes=_twice(node.name for _, node in classes),
        twice_modules=_twice(path.stem for path in code.files if path.stem != "__init__"),
    )


def _folders(code: Codebase, lines: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    counts: dict[str, tuple[int, int]] = {}
    for name, path in code.modules.items():
        folder = str(path.parent.relative_to(code.root))
        modules, total = counts.get(folder, (0, 0))
        counts[folder] = (modules + (path.stem != "__init__"), total + lines[name])
    return counts


def _circle(code: Codebase) -> tuple[str, ...]:
    try:
        TopologicalSorter(code.graph).prepare()
    except CycleError as problem:
        return tuple(problem.args[1])
    return ()


def _lengths(nodes: list) -> list[tuple[int, str]]:
    return [(node.end_lineno - node.lineno + 1, f"{module}.{node.name}") for module, node in nodes]


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def _twice(names: Iterator[str]) -> int:
    return sum(times > 1 for times in Counter(names).values())


def _text(now: Size, release: Size | None) -> Iterator[str]:
    def row(what: str, value: object, before: object) -> str:
        return f"{what:<44}{value!s:>24}{before if release else '':>24}"

    yield row("", "now", "last release")
    before = release or now
    yield row("modules", now.modules, before.modules)
    yield row("lines", now.lines, before.lines)
    yield row("modules in a circle", len(now.circle[1:]), len(before.circle[1:])) + f"  {' -> '.join(now.circle)}".rstrip()
    for what in ("longest_function", "longest_class", "longest_module", "most_parameters"):
        (count, name), (count_before, _) = getattr(now, what), getattr(before, what)
        yield row(what.replace("_", " "), count, count_before) + f"  {name.partition('.')[2]}"
    yield row(f"functions of more than {_LONG_FUNCTION} lines", now.long_functions, before.long_functions)
    yield row(f"functions of more than {_MANY_PARAMETERS} parameters", now.many_parameters, before.many_parameters)
    yield row(f"modules of more than {_LONG_MODULE} lines", now.long_modules, before.long_modules)
    yield row("names that several classes share", now.twice_classes, before.twice_classes)
    yield row("names that several modules share", now.twice_modules, before.twice_modules)
    yield ""
    yield row("folder", "modules, lines", "last release")
    for folder in sorted({*now.folders, *before.folders}):
        counts = (each.folders.get(folder, (0, 0)) for each in (now, before))
        yield row(folder, *(f"{modules:>4}{lines:>8}" if modules or lines else "-" for modules, lines in counts))


def _release() -> Size | None:
    if not _RELEASE.exists():
        return None
    data = json.loads(_RELEASE.read_text())
    return Size(
        **{key: value if key == "folders" else tuple(value) if isinstance(value, list) else value for key, value in data.items()}
    )


def main() -> int:
    """The exit status: 1 with a circle."""
    parser = argparse.ArgumentParser(prog="python -m tests.size", description=__doc__.split("\n")[0].split(":")[0])
    parser.add_argument("--save", action="store_true", help="the present figures become those of the last release")
    parser.add_argument("--root", type=Path, default=ROOT, help="the folder of the package (default: this one)")
    options = parser.parse_args()
    now = measured(Codebase(options.root))
    if options.save:
        _RELEASE.write_text(json.dumps(asdict(now), indent=1) + "\n")
    print(*_text(now, _release()), sep="\n")
    return 1 if now.circle else 0


if __name__ == "__main__":
    sys.exit(main())
