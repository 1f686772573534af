"""What is one step smaller than a failing program: its text, arguments, data and sizes."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import replace

from polyml.defects.shrink import shrink as shrunk
from polyml.defects.shrink import smaller_sources
from tests.fuzz.program import Program


def shrink(program: Program, fails: Callable[[Program], bool], budget: int = 400) -> Program:
    """A smaller program for which `fails` holds as it does for `program`. budget: how many variants are tried."""
    return shrunk(program, _variants, fails, budget)


def _variants(program: Program) -> Iterator[Program]:
    """Every program one step smaller, the largest steps first."""
    if len(program.sizes) > 1:
        for sizes in program.sizes:
            yield replace(program, sizes=(sizes,))
    for source in smaller_sources(program.source):
        yield program.with_source(source)
    yield from _without_arguments(program)
    for position, argument in enumerate(program.arguments):
        if argument.layout != "C":
            plain = replace(argument, layout="C")
            yield replace(program, arguments=_put(program.arguments, position, plain))
    if program.data != "small":
        yield replace(program, data="small")
    for number, sizes in enumerate(program.sizes):
        for name, value in sizes.items():
            for less in {1, value // 2, value - 1}:
                if 0 <= less < value:
                    yield replace(program, sizes=_put(program.sizes, number, {**sizes, name: less}))


def _put(values: tuple, position: int, value) -> tuple:
    return (*values[:position], value, *values[position + 1 :])


def _without_arguments(program: Program) -> Iterator[Program]:
    """The program without one unused argument."""
    tree = ast.parse(program.source)
    used = {n.id for statement in tree.body[0].body for n in ast.walk(statement) if isinstance(n, ast.Name)}
    for argument in program.arguments:
        if argument.name in used or any(a.layout == f"={argument.name}" for a in program.arguments):
            continue
        smaller = copy.deepcopy(tree)
        smaller.body[0].args.args = [a for a in smaller.body[0].args.args if a.arg != argument.name]
        left = tuple(a for a in program.arguments if a.name != argument.name)
        yield replace(program, source=ast.unparse(smaller) + "\n", arguments=left)
