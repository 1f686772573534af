"""The parameters of a kernel, as the host passes them and as text.

Launch, arrays and sizes that its text refers to   ->   float *__restrict__ C, const float *__restrict__ A, const long long n
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from polyml.codegen.gpu.program import Launch
from polyml.codegen.gpu.signatures import LaunchSignature
from polyml.codegen.gpu.text.dialect import Dialect
from polyml.codegen.gpu.text.names import block_count, first_block, named, number_name
from polyml.codegen.gpu.text.shared_memory import SharedArray, asked_bytes
from polyml.codegen.gpu.text.teams import stored_parts
from polyml.codegen.gpu.text.values import Needs
from polyml.model.core.scop import Scop
from polyml.quasi_affine.affine import Affine


@dataclass(frozen=True)
class Referred:
    """A Referred is what the text of a kernel refers to.

    arrays: by name, whether the kernel writes them.
    integers: names of integers, parameters among them.
    shared: arrays in shared memory.
    """

    arrays: Mapping[str, bool]
    integers: Mapping[str, None]
    shared: Mapping[str, SharedArray]
    needs: Needs


def signature_of(launch: Launch, scop: Scop, dialect: Dialect, referred: Referred) -> LaunchSignature:
    """Returns the parameters of a kernel."""
    team, needs = launch.team, referred.needs
    known: Set[str] = {*launch.host, *launch.counts, *(p.name for p in scop.parameters), *((team.parts,) if team else ())}
    integers = tuple(sorted(referred.integers.keys() & known))
    numbers, extents = tuple(needs.numbers.items()), _extents(launch)
    arrays, parts = tuple(referred.arrays.items()), stored_parts(launch, scop)
    asked = asked_bytes(referred.shared.values(), dialect)
    return LaunchSignature(arrays, integers, firsts(launch, dialect), extents, numbers, needs.status, parts, asked)


def firsts(launch: Launch, dialect: Dialect) -> tuple[int, ...]:
    """Returns the numbers of the axes for which the number of the first block is a parameter of the kernel: those where it is not
    always 0, or whose blocks may be divided among several launches.
    """
    axes = [(k, axis) for k, axis in enumerate(launch.axes) if not axis.is_lane]
    return tuple(k for k, axis in axes if axis.first != Affine() or dialect.splits[min(k, 2)])


def _extents(launch: Launch) -> tuple[int, ...]:
    """Returns the numbers of the axes for which the number of blocks is a parameter of the kernel. The axes from number 2 on share the
    third axis of the grid: the block's number there is divided into one for each of them, which needs the number of blocks of
    all of them but the last.
    """
    return tuple(range(2, len(launch.axes) - 1))


def parameters(signature: LaunchSignature, launch: Launch, scop: Scop, dialect: Dialect) -> Iterator[str]:
    """Yields the declarations of a kernel's parameters, in order."""
    for array, is_written in signature.arrays:
        element = dialect.memory_type(scop.arrays[array].element)
        const = "" if is_written else "const "
        yield f"{dialect.pointer}{const}{element} *{dialect.restrict} {named(array)}"
    for name, dtype in signature.parts:
        const = "" if launch.team and launch.team.part else "const "
        yield f"{dialect.pointer}{const}{dialect.memory_type(dtype)} *{dialect.restrict} {name}"
    yield from (f"const {dialect.index} {named(name)}" for name in signature.integers)
    yield from (f"const {dialect.index} {first_block(launch.axes[k])}" for k in signature.firsts)
    yield from (f"const {dialect.index} {block_count(launch.axes[k])}" for k in signature.extents)
    yield from (f"const {dialect.memory_type(dtype)} {number_name(name)}" for name, dtype in signature.numbers)
    if signature.status:
        yield f"{dialect.pointer}int *status"
