"""Whether stages read back from their texts; what is the same is said more strictly than by `==`: types of values too, and isl's
objects by the sets that they are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum

import islpy as isl
import numpy as np

from polyml import pass_manager
from polyml.codegen.ir.program import Program
from polyml.codegen.text import reader as program_reader
from polyml.codegen.text import writer as program_writer
from polyml.frontend import syntax
from polyml.frontend.text import reader as kernel_reader
from polyml.frontend.text import writer as kernel_writer


@contextmanager
def reading_back(is_wanted: bool = True) -> Iterator[list[str]]:
    """A list that says behind the block where the texts of the kernel and of the program that it compiled last, whose SCoP is in that
    of the program, do not read back.

    is_wanted: whether they are read. It takes 2 % of the time that loops are fuzzed in. Of mixed programs every other one is read,
    of array programs every third, which takes 3 and 4 %.
    """
    if not is_wanted:
        yield []
        return
    last: dict[str, object] = {}
    found: list[str] = []

    def watch(step: pass_manager.Pass, before: object, after: object, seconds: float) -> None:
        if isinstance(after, syntax.Kernel):
            last["kernel"] = after
        if step.name == "llvm":
            last["program"] = before

    with pass_manager.watched(watch):
        yield found
    found += (problem for value in last.values() if (problem := damage(value)))


def damage(value: object) -> str:
    """What is lost where a kernel or a program is written and read; "" where nothing is, or where regions have no complete text."""
    if isinstance(value, Program) and value.scop.has_regions:
        return ""
    try:
        if isinstance(value, Program):
            lost = differences(program_reader.parse(program_writer.text(value)), value)
        else:
            assert isinstance(value, syntax.Kernel)
            lost = differences(kernel_reader.parse(kernel_writer.text(value)), value)
    except Exception as problem:
        return f"the text of a {type(value).__name__} does not read back: {problem}"
    return f"the text of a {type(value).__name__} reads back as another one: {lost[0][:300]}" if lost else ""


def differences(one: object, other: object) -> list[str]:
    """Where two values differ, each difference with the way to it; [] for equal ones.

    Fields that are not part of equality (locations) may differ. Parts that a value shares are compared once.
    """
    return list(_different(one, other, "", {}))


def _different(one: object, other: object, way: str, seen: dict[tuple[int, int], tuple]) -> Iterator[str]:
    if (id(one), id(other)) in seen:
        return
    seen[id(one), id(other)] = (one, other)  # kept, so that no other object gets the identity
    if type(one) is not type(other):
        yield f"{way}: {one!r} is a {type(one).__name__}, {other!r} a {type(other).__name__}"
    elif dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            if field.compare:
                yield from _different(getattr(one, field.name), getattr(other, field.name), f"{way}.{field.name}", seen)
    elif isinstance(one, Mapping):
        if list(one) != list(other):
            yield f"{way}: keys {list(one)} and {list(other)}"
            return
        for key in one:
            yield from _different(one[key], other[key], f"{way}[{key!r}]", seen)
    elif isinstance(one, (tuple, list)):
        if len(one) != len(other):
            yield f"{way}: {len(one)} and {len(other)} items"
        for number, (a, b) in enumerate(zip(one, other)):
            yield from _different(a, b, f"{way}[{number}]", seen)
    elif not _same(one, other):
        yield f"{way}: {one!r} and {other!r}"


def _same(one: object, other: object) -> bool:
    """Of two values of one type that have no parts."""
    if isinstance(one, isl.Schedule):
        return one.plain_is_equal(other) or isl.Schedule(str(one)).plain_is_equal(isl.Schedule(str(other)))
    if isinstance(one, isl.PwAff):
        return _parameters(one) == _parameters(other) and (one.plain_is_equal(other) or one.is_equal(other))
    if isinstance(one, (isl.Set, isl.Map)):
        return _parameters(one) == _parameters(other) and one.get_space().is_equal(other.get_space()) and one.is_equal(other)
    if isinstance(one, (float, complex, np.generic)):
        return repr(one) == repr(other)
    if isinstance(one, (str, int, bool, type(None), frozenset, Enum)):
        return one == other
    raise TypeError(f"{type(one)} has no comparison here")


def _parameters(value: isl.Set | isl.Map | isl.PwAff) -> tuple[str, ...]:
    """In their order: code names what it computes by it."""
    return tuple(value.get_space().get_dim_name(isl.dim_type.param, n) for n in range(value.dim(isl.dim_type.param)))
