"""A schedule's loops as text for people, and as data for JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from polyml.model.core.printer import integer_text, parameter_text, statement_text
from polyml.model.core.scop import Scop
from polyml.polyhedra import parameter_names, with_iterators
from polyml.schedule.tree.loop_tree import Block, BlockPart, Leaf, Loop, Node, pieces, statements

_STEP = "    "


def text(scop: Scop, tree: Node) -> str:
    """Returns the schedule's loops and statements as text. A loop that does not count its own iterator shows what it counts.

        schedule of gemm, N = C.shape[0]
        for i_t = i - i % 32:  # tile, parallel
            for i:
                S0[i]: C[i] = beta*C[i]

    Behind `#` are the loop's directives.
    """
    used = parameter_names(scop.domain)
    sizes = [parameter_text(p) for p in scop.parameters if p.name in used]
    return "\n".join([", ".join([f"schedule of {scop.name}", *sizes]), *_lines(scop, tree)])


def data(scop: Scop, tree: Node) -> list[dict[str, Any]]:
    """Returns the schedule's loops and statements as nested dictionaries for JSON, in the order in which they run.

    A loop has its name, its directives, what it counts by statement, in isl's notation, and its body. Where the instances of a
    statement are divided among several parts, these have the instances of theirs.
    """
    if isinstance(node := tree, Leaf):
        return [{"statement": name, "text": statement_text(scop.statements[name])} for name in node.statements]
    if isinstance(node, Loop):
        counts = {piece.domain().get_tuple_name(): str(piece) for piece in pieces(node.member)}
        return [{"loop": node.name, "directives": node.directives.words(), "counts": counts, "body": data(scop, node.body)}]
    shared = in_several(node)
    made: list[dict[str, Any]] = []
    for part in node.parts:
        inside = data(scop, part.body)
        made += [{"instances": str(part.instances), "body": inside}] if shared & {*statements(part.body)} else inside
    return made


def _lines(scop: Scop, node: Node) -> Iterator[str]:
    """Yields the lines of the subtree's loops and statements; its outermost loop is not indented."""
    if isinstance(node, Leaf):
        for name in node.statements:
            statement = scop.statements[name]
            yield f"{name}[{', '.join(statement.iterators)}]: {statement_text(statement)}"
    elif isinstance(node, Loop):
        words = ", ".join(node.directives.words())
        yield f"for {node.name}{counts(scop, node)}:{f'  # {words}' if words else ''}"
        yield from (_STEP + line for line in _lines(scop, node.body))
    else:
        for part, told in zip(node.parts, conditions(scop, node)):
            if told:
                yield f"if {told}:"
                yield from (_STEP + line for line in _lines(scop, part.body))
            else:
                yield from _lines(scop, part.body)


def counts(scop: Scop, loop: Loop) -> str:
    """Returns what the loop counts, such as " = i - i % 32"; "" where that is the iterator that the loop is named by."""
    counted: dict[str, list[str]] = {}
    for piece in sorted(pieces(loop.member), key=lambda p: p.domain().get_tuple_name()):
        name = piece.domain().get_tuple_name()
        text = re.sub(r"\((\w+)\) mod (\d+)", r"\1 % \2", integer_text(piece)).replace(" mod ", " % ")
        counted.setdefault(text, []).append(name)
    if [*counted] == [loop.name]:
        return ""
    if len(counted) == 1:
        return f" = {next(iter(counted))}"
    told = (f"{text} of {', '.join(names)}" for text, names in counted.items())
    return f" = {'; '.join(told)}"


def conditions(scop: Scop, node: Block) -> list[str]:
    """Returns for each part of a block the condition under which instances run in it; "" where it has all of its statements."""
    shared = in_several(node)
    return [condition(scop, part) if shared & {*statements(part.body)} else "" for part in node.parts]


def in_several(node: Block) -> set[str]:
    """Returns the names of the statements whose instances are divided among several parts of a block."""
    names = [name for part in node.parts for name in {*statements(part.body)}]
    return {name for name in names if names.count(name) > 1}


def condition(scop: Scop, part: BlockPart) -> str:
    """Returns the condition under which instances run in a part of a block, as text, statement by statement."""
    found = part.instances.get_set_list()
    told = []
    for piece in (found.get_at(k) for k in range(found.n_set())):
        name = piece.get_tuple_name()
        statement = scop.statements[name]
        piece = with_iterators(piece, statement.iterators).gist(statement.domain).coalesce()
        inside = str(piece)[str(piece).index("{") + 1 : str(piece).rindex("}")]
        condition = inside.partition(" : ")[2].strip()
        told.append(f"{name}: {condition}" if condition else name)
    return "; ".join(sorted(told))
