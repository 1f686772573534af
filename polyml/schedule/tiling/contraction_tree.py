"""Nodes of trees over the iterators of statements: filters, bands, and where the tiles of a loop begin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from polyml import polyhedra
from polyml.model.core.scop import Statement
from polyml.schedule.tiling.blocked_factorization import SLAB
from polyml.schedule.tree import nodes
from polyml.schedule.tree.text import Tree, tuple_text


def origin_of(statement: Statement, iterator: str) -> str:
    """Returns the first iteration of the first tile along a loop, as isl text.

    It is the loop's first iteration where that depends on SLAB (the parameter for where a slab begins), and 0 elsewhere.
    """
    if SLAB not in polyhedra.parameter_names(statement.domain):
        return "0"
    first = polyhedra.value_range(statement.domain, statement.iterators.index(iterator))[0]
    if first is None or SLAB not in polyhedra.used_parameters(first):
        return "0"
    return polyhedra.expression_text(first)


def ends_of(statement: Statement, iterator: str) -> tuple[str, str] | None:
    """Returns the first and the last iteration of a loop, as isl texts; None where they are not affine in the parameters.

    Where the loop is empty, the last iteration is the first one.
    """
    position = statement.iterators.index(iterator)
    first, last = polyhedra.value_range(statement.domain, position)
    single = polyhedra.single(last)
    if first is None or single is None:
        return None
    low, high = polyhedra.expression_text(first), polyhedra.expression_text(single)
    return low, f"max({low}, {high})"


def members_of_band(node: Tree) -> list[dict[str, str | None]]:
    """Returns for each member of a band: statement -> the iterator that the member follows, None where it is no single iterator."""
    return _members_of(node["schedule"])


@lru_cache(maxsize=256)
def _members_of(text: str) -> list[dict[str, str | None]]:
    return polyhedra.member_iterators(nodes.values(text))


def filter_text(statements: Sequence[Statement]) -> str:
    """Returns the filter { S[i]; T[j] } of all instances of some statements, as the text in schedule trees."""
    return f"{{ {'; '.join(tuple_text(s) for s in statements)} }}"


def band_node(
    members: Sequence[Mapping[Statement, str]], steps: Sequence[int], coincident: Sequence[int], origins: Sequence[str]
) -> Tree:
    """Returns a permutable band of loops over tiles or over single iterations, as a node of a tree.

    members: for each loop, by statement, the iterator that it follows, or an expression of parameters, as isl text.
    steps: for each loop the size of its tiles, 1 for single iterations.
    coincident: for each loop, 1 where it carries no dependence, else 0.
    origins: for each loop the first iteration of its first tile, as isl text.
    """
    texts = []
    for member, step, origin in zip(members, steps, origins):
        values = (f"{tuple_text(s)} -> [({_tile(it, step, origin)})]" for s, it in member.items())
        texts.append(f"{{ {'; '.join(values)} }}")
    fixed = (s for member in members for s, it in member.items() if it not in s.iterators)
    names = dict.fromkeys(name for s in fixed for name in polyhedra.parameter_names(s.domain))
    if any(SLAB in origin for origin in origins):
        names[SLAB] = None
    parameters = f"[{', '.join(names)}] -> " if names else ""
    return {"schedule": f"{parameters}[{', '.join(texts)}]", "permutable": 1, "coincident": list(coincident)}


def _tile(it: str, step: int, origin: str) -> str:
    """Returns the isl text of the iteration at which the tile that holds the iteration `it` begins.

    step: iterations of a tile.
    origin: where the first tile begins, as text.
    """
    if step == 1:
        return it
    return f"{step}*floor(({it})/{step})" if origin == "0" else f"{origin} + {step}*floor(({it} - ({origin}))/{step})"
