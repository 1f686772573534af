"""Random affine kernels as a user would write them: Python text, arguments and sizes.

`program(seed)` is a pure function of the seed. Every program is legal Python; nearly all stay inside their arrays by
construction (`affine.room`), a small share leaves them on purpose.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Sequence

from tests.fuzz.gpu_templates import GPU_TEMPLATES
from tests.fuzz.mutate import mutate
from tests.fuzz.program import Argument, Program
from tests.fuzz.row_templates import ROW_TEMPLATES
from tests.fuzz.template_parts import Made
from tests.fuzz.templates import TEMPLATES
from tests.fuzz.writer import Writer

SIZES_BY_DEPTH = {0: 40, 1: 130, 2: 45, 3: 16, 4: 8}  # at most about 4,000 instances of a statement


def program(seed: int, template: str = "") -> Program:
    """The random program number `seed`: two of three free, one a template with random holes; or all of the templates with these names.

    template: names with commas between, those named twice drawn twice as often; "": any program.
    """
    rng = random.Random(seed)
    if template:
        known = {each.__name__: each for each in (*TEMPLATES, *ROW_TEMPLATES, *GPU_TEMPLATES)}
        return _from_template(rng, seed, tuple(known[name] for name in template.split(",")))
    made = _from_template(rng, seed, (*TEMPLATES, *ROW_TEMPLATES)) if rng.random() < 0.35 else _free(rng, seed)
    if rng.random() < 0.25:
        made = made.with_source(mutate(made.source, rng))
    return made


def _from_template(rng: random.Random, seed: int, templates: Sequence[Callable[[random.Random], Made]]) -> Program:
    template = rng.choice(templates)
    source, arguments = template(rng)
    source = ast.unparse(ast.parse(source)) + "\n"
    return _finish(rng, f"{seed} {template.__name__}", source, arguments)


def _free(rng: random.Random, seed: int) -> Program:
    writer = Writer(rng)
    writer.write()
    lines = ["def kernel(%s):" % ", ".join(a.name for a in writer.arguments), *writer.lines]
    source = ast.unparse(ast.parse("\n".join(lines))) + "\n"
    return _finish(rng, str(seed), source, tuple(writer.arguments))


def _finish(rng: random.Random, label: str, source: str, arguments: Sequence[Argument]) -> Program:
    arguments = _with_layouts(rng, arguments)
    data = rng.choices(["small", "wide", "special"], [8, 3, 1])[0]
    return Program(label, source, arguments, _sizes(rng, source, arguments), data, rng.randrange(2**31))


def _with_layouts(rng: random.Random, arguments: Sequence[Argument]) -> tuple[Argument, ...]:
    """Most programs get plain arrays; some get other layouts, and a few the same array twice."""
    if rng.random() < 0.85:
        return tuple(arguments)
    out: list[Argument] = []
    for argument in arguments:
        layout = rng.choice(["C", "F", "strided", "reversed", "offset"]) if argument.shape else "C"
        twins = [a for a in out if a.shape and (a.shape, a.element) == (argument.shape, argument.element)]
        if twins and not twins[0].layout.startswith("=") and rng.random() < 0.3:
            layout = "=" + twins[0].name
        out.append(Argument(argument.name, argument.element, argument.shape, argument.value, layout))
    return tuple(out)


def _sizes(rng: random.Random, source: str, arguments: Sequence[Argument]) -> tuple[dict[str, int], ...]:
    """Three runs: unequal sizes as large as the depth allows, middling odd ones, and tiny ones with 0 and 1."""
    texts = [e for a in arguments for e in (*(a.shape or ()), a.value) if e]
    names = sorted({n.id for e in texts for n in ast.walk(ast.parse(e)) if isinstance(n, ast.Name)})
    top = SIZES_BY_DEPTH[min(4, depth(ast.parse(source)))]
    return (
        {n: max(2, top - rng.randrange(max(2, top // 3))) for n in names},
        {n: rng.randint(2, max(4, top // 3)) | 1 for n in names},
        {n: rng.choice([0, 1, 1, 2, 3]) for n in names},
    )


def depth(node: ast.AST) -> int:
    """How many loops are nested in each other at most."""
    return isinstance(node, ast.For) + max((depth(child) for child in ast.iter_child_nodes(node)), default=0)
