"""The programs that are replayed, each as a function that makes a kernel, calls it, and gives what is to be compared besides stages.

Nothing of polyml is imported but its public names: a subject runs with the polyml of any commit.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import linecache
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np

Sections = dict[str, str]  # name of a section -> its text
REPORTS = (
    ("cpu", {"machine": "zen4", "threads": 2}),
    ("cuda", {"machine": "h100"}),
    ("systolic", {"array": (4, 4)}),
)
_LOOKUPS = ("polyml.measure.lookup", "polyml.machines.find")
SHARES = (("loops", 0.4), ("arrays", 0.25), ("mixed", 0.35))  # of the random programs


@dataclass(frozen=True)
class Subject:
    """name: of its file in a capture. run: calls the program and gives texts that are compared."""

    name: str
    run: Callable[[], Sections]


def subjects(random: int) -> Iterator[Subject]:
    """All programs that stand in files, then `random` ones: the same for the same number always."""
    yield from _kernels()
    yield from _array_kernels()
    yield from _array_programs()
    for kind, share in SHARES:
        for seed in range(1, round(random * share) + 1):
            yield Subject(f"{kind}-{seed}", partial(_RANDOM[kind], seed))


def _kernels() -> Iterator[Subject]:
    for name in _examples().NAMES:
        yield Subject(f"kernel-{name}", partial(_kernel, name))


def _kernel(name: str) -> Sections:
    benchmark = _examples().load(name)
    given = benchmark.inputs(benchmark.sizes["MINI"], np.random.default_rng(1), benchmark.dtype)
    return _called(benchmark.kernel.py_func, list(given.values()), reports=True)


def _examples(part: str = "") -> ModuleType:
    """The package of the folder kernels/, or a part of it, by the name that this polyml or an older one has for it.

    Which of both that is, its folder says: another installed polyml could have the new name too.
    """
    spec = importlib.util.find_spec("polyml")
    is_part = spec is not None and spec.origin is not None and Path(spec.origin).with_name("kernels").exists()
    return importlib.import_module(f"{'polyml.' if is_part else ''}kernels{part}")


def _array_kernels() -> Iterator[Subject]:
    for name in _examples(".arrays").workloads():
        yield Subject(f"array-kernel-{name}", partial(_array_kernel, name))


def _array_kernel(name: str) -> Sections:
    workload = _examples(".arrays").workloads()[name]
    return _called(workload.function, list(workload.arguments("SMALL")), reports=True)


def _array_programs() -> Iterator[Subject]:
    from tests.arrays.corpus import corpus

    for program in corpus():
        yield Subject(f"array-program-{program.name}", partial(_called, program.function, list(program.arguments)))


def _loops(seed: int) -> Sections:
    from tests.fuzz.generate import program
    from tests.fuzz.program import function, make_arguments

    made = program(seed)
    return _called(function(made), make_arguments(made, 0), source=made.source)


def _arrays(seed: int) -> Sections:
    from tests.arrays.generate import generate

    made = generate(seed)
    file, text = f"<arrays {seed}>", "import numpy as np\n" + made.source
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Callable] = {}
    exec(compile(text, file, "exec"), scope)
    return _called(scope["f"], list(made.arguments(0).values()), source=made.source)


def _mixed(seed: int) -> Sections:
    import polyml
    from tests.mixed.generate import mixed
    from tests.mixed.run import bound, callables, run

    program = mixed(seed)
    kernel = polyml.kernel(callables(program)[1])
    call, messages = bound(kernel), []
    for number in range(program.calls):
        ran = run(call, program, number)
        messages.append(f"call {number}: {'' if ran.error is None else repr(ran.error)}")
    return {"source": program.source, "calls": "\n".join(messages), "explain": kernel.explain()}


_RANDOM = {"loops": _loops, "arrays": _arrays, "mixed": _mixed}


def _called(function: Callable, arguments: list, source: str = "", reports: bool = False) -> Sections:
    import polyml

    kernel = polyml.kernel(function)
    given = [value.copy() if isinstance(value, np.ndarray) else value for value in arguments] if reports else []
    made = {"source": source} if source else {}
    made["call"] = _raised(lambda: kernel(*arguments))
    made["explain"] = kernel.explain()
    for target, options in REPORTS if reports else ():
        made[f"report {target}"] = _raised(partial(_report, kernel, given, target, options))
    return made


def _report(kernel, arguments: list, target: str, options: dict) -> str:
    named = {**options, "machine": _machine(options["machine"])} if "machine" in options else options
    report = kernel.report(*arguments, target=target, **named)
    return f"{report}\n{json.dumps(report.data(), indent=1, default=str)}"


def _machine(name: str) -> object:
    """The preset of that name, from where this polyml or an older one keeps it."""
    for module in _LOOKUPS:
        try:
            return importlib.import_module(module).find(name)
        except ModuleNotFoundError:
            continue
    raise ModuleNotFoundError(f"none of {', '.join(_LOOKUPS)}")


def _raised(run: Callable[[], object]) -> str:
    """What `run` gives where that is a text, or the error that it raises."""
    try:
        made = run()
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    return made if isinstance(made, str) else ""
