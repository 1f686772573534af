"""Names in the text of kernels for GPUs: those of the program, but for words of C and names in use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set

from polyml.codegen.gpu.program import Launch, LaunchAxis, Version
from polyml.codegen.gpu.text.dialect import Dialect
from polyml.codegen.ir.program import Instance, Loop, Node
from polyml.model.core.scop import Scop

_WORDS = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if inline int long register restrict return "
    "short signed sizeof static struct switch typedef union unsigned void volatile while bool half uchar ushort uint ulong kernel global "
    "local constant private read_only write_only read_write event_t sampler_t image2d_t image3d_t size_t ptrdiff_t complex imaginary "
    "sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh asin acos atan atan2 asinh acosh atanh floor ceil trunc rint erf erfc tgamma lgamma cbrt "
    "fmod hypot copysign pow fabs isnan isinf isfinite NAN INFINITY barrier get_group_id get_local_id mul_hi "
    "lane slot left right class new delete this template typename namespace using public protected virtual operator friend throw try catch true false NULL "
    "and or not xor asm thread e status mutable explicit export static_cast status abs min max".split()
)
_OWN = re.compile(  # what the text calls its own: constants, tiles, registers, blocks, functions of its preamble
    r"[ev]\d+|(first|blocks|copy|commit|wait|load|multiply|checked|floor_divide|remainder|shift|power|sign|absolute|minimum|maximum|least|greatest|min|max|rounded|[b]?f16|complex|arc)_.*"
    r"|\w+_(held|partial|shared|parts|tile(_\w+)?|aligned|warp|block|at|thread|chunk(_\w+)?|positions(_\w+)?|item|real|imag)|flag|leaves_product|excess_square|direction|u64_of_float|(__|as_|atomic).*"
)


def first_block(axis: LaunchAxis) -> str:
    """Returns the name of the kernel's parameter that is the number of the axis's first block."""
    return f"first_{axis.start}"


def block_count(axis: LaunchAxis) -> str:
    """Returns the name of the kernel's parameter that is how many blocks the axis has."""
    return f"blocks_{axis.start}"


def block_number(number: int, launch: Launch, dialect: Dialect) -> str:
    """Returns the C text of the number of a thread's block along an axis. Axes from the third one on share the third axis of the grid.

    number: that of the axis, from 0 on.
    """
    text, axes = dialect.block[min(number, 2)], launch.axes
    if len(axes) <= 3 or number < 2:
        return text
    for axis in axes[2:number]:
        text = f"{text} / {block_count(axis)}"
    return f"({text} % {block_count(axes[number])})" if number < len(axes) - 1 else f"({text})"


def named(name: str) -> str:
    """Returns a name of the program as the text has it: with an underscore behind it if, without those that it ends with, it is a word
    of C or a name that the text gives to something of its own. Different names stay different.
    """
    stem = name.rstrip("_")
    return f"{name}_" if stem in _WORDS or _OWN.fullmatch(stem) else name


def number_name(name: str) -> str:
    """Returns the name in the text of an argument that is a number; "z.imag" is a part of one that is complex."""
    argument, dot, part = name.partition(".")
    return f"{argument}_{part}" if dot else named(argument)


def outer_names(launch: Launch, scop: Scop) -> dict[str, str]:
    """Returns { name in the program -> name in the C text } of the integers that are constant in a thread: sizes, variables of the
    host's loops, and the thread's first iteration along each axis.
    """
    return {name: named(name) for name in (*launch.host, *axis_names(launch), *(p.name for p in scop.parameters))}


def axis_names(launch: Launch) -> Iterator[str]:
    """Yields the names of a thread's first iteration along each axis, or of a position, how many there are, and the iterations there."""
    for axis in launch.axes:
        yield axis.start
        if axis.merged:
            yield from (axis.count, *(loop.name for loop in axis.merged))


def loop_names(version: Version, launch: Launch, outer: Mapping[str, str], scop: Scop) -> dict[int, str]:
    """Returns { identity of a loop -> the name of its variable in the C text }: the name that the schedule gives the loop, changed if it
    is a word of C or in use around the loop. Loops that follow one another may have the same name, and in the program the same variable.

    outer: { name in the program -> name in the C text } of the names outside the loops, which are in use.
    """
    items = {axis.item for axis in launch.blocks}
    taken = {*outer.values(), *map(named, (*scop.arrays, *scop.params)), *items}
    return dict(_loop_names(version.body, items, taken))


def _loop_names(nodes: Sequence[Node], items: Set[str], taken: Set[str]) -> Iterator[tuple[int, str]]:
    """Yields, for each loop below the nodes, its identity and the name of its variable in the C text.

    items: the names of the loops over a thread's items, which are kept.
    taken: names that are in use around the nodes.
    """
    for node in nodes:
        if isinstance(node, Instance):
            continue
        inside = taken
        if isinstance(node, Loop):
            wanted = node.name if node.name in items else named(node.name or node.var)
            name, number = wanted, 2
            while name in taken and name not in items:
                name, number = f"{wanted}_{number}", number + 1
            yield id(node), name
            inside = taken | {name}
        yield from _loop_names(node.body, items, inside)
