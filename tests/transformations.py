"""Which transformations the compiler applied to random programs, so that a fuzzer says what it tried and not only how often.

with recording() as seen: kernel(*arguments)     seen: what fired in each compilation
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from itertools import combinations

import islpy as isl
import numpy as np

from polyml import pass_manager
from polyml.codegen.ir.program import COPY, Guard, Jam, Loop, Program, Unroll, every
from polyml.pipeline import compile as pipeline
from polyml.schedule.tree.loop_tree import Leaf, Node, children, loops, pieces, read, statements

# what the rules of algebra did: values computed once, or where they are used; einsums in a cheaper order; expressions in a cheaper form
ALGEBRA = ("shared value", "joined value", "ordered einsum", "rewritten algebra")
NAMES = (
    "tile", "skew", "fuse", "index-set split", "expansion", "pack", "vectorise", "lanes in order", "versions by distance", "scan", "parallel", "part boundary",
    "words", "array contraction", "in-place sum", "update chain", "symmetric result", "copied rows", "shared memory", "row strips", "sums over strips", "in place",
    "masked sum", "running maximum", "regions", "lanes of regions", "companions", "reshaped copy", "sizes alike", *ALGEBRA,
)  # fmt: skip
OF_NESTS = {  # pass -> the name of what fired where it changes the nest
    "array_contraction": "array contraction", "in_place_sums": "in-place sum", "update_chains": "update chain",
    "symmetric_results": "symmetric result", "copy_coalescing": "in place", "alike_sizes": "sizes alike",
    "reshaped_copies": "reshaped copy",
}  # fmt: skip
# what has nothing to do with most others, so that pairs with it are not asked for
SELDOM_TOGETHER = {
    "lanes in order",
    "versions by distance",
    "scan",
    "words",
    "copied rows",
    "shared memory",
    "row strips",
    "sums over strips",
    "masked sum",
    "companions",
    *ALGEBRA,
    "running maximum",
    "regions",
    "lanes of regions",
    *OF_NESTS.values(),
}
LEAST, LEAST_PAIRS = 500, 10  # programs of 50,000 in which each fires, and each two
PASS = "pass "  # before the names of passes that changed what they were given


@contextmanager
def recording() -> Iterator[list[frozenset[str]]]:
    """A list to which each compilation inside adds the names of what fired in it."""
    seen: list[frozenset[str]] = []
    expanded, packed, of_nests, changed = [], [], set(), set()
    real = pipeline.compile

    def compile(kernel, wanted, *args, **named):
        expanded.clear(), packed.clear(), of_nests.clear()
        changed.clear()
        with pass_manager.watched(seen_pass):
            made = real(kernel, wanted, *args, **named)
        extra = {"expansion"} if any(expanded) else set()
        extra |= {"pack"} if packed[-1:] == [True] else set()
        extra |= of_nests | changed
        behind = [note for note in made.artifact.notes if note.lstrip().startswith("in its tiles") and note.endswith("behind it")]
        extra |= {"companions"} if behind else set()
        extra |= {"running maximum"} if {*made.scop.arrays} >= {"best", "factor"} else set()
        extra |= {"regions"} if made.scop.has_regions else set()
        extra |= {"lanes of regions"} if f"{PASS}region_lanes" in changed else set()
        seen.append(frozenset(_of_loops(made) | _of_code(made.program, wanted.options.runs_alone) | extra))
        return made

    def seen_pass(step, before, after, seconds):
        if type(before) is type(after) and before is not after and _differ(before, after):
            changed.add(PASS + step.name)
        if step.name == "scalar_expansion":
            expanded.append(any(after.arrays[name].shape != array.shape for name, array in before.arrays.items()))
        if step.name == "array_expansion":
            expanded.append(after is not before)
        if step.name in OF_NESTS and before.body != after.body:
            of_nests.add(OF_NESTS[step.name])
        if step.name == "resolve" and any(name.startswith("_held") and array.shape for name, array in after.arrays.items()):
            of_nests.add("copied rows")
        if step.name == "row_strips" and after is not before:
            of_nests.add("row strips")
            if str(after).count('"parallel ') > str(before).count('"parallel '):  # marks that name arrays of partial results
                of_nests.add("sums over strips")
        if step.name == "masked_updates" and after is not before:
            of_nests.add("masked sum")
        if step.name == "pack":
            packed.append({*after.scop.arrays} > {*before.scop.arrays})

    pipeline.compile = compile
    try:
        yield seen
    finally:
        pipeline.compile = real


def _differ(before: object, after: object) -> bool:
    return str(before) != str(after) if isinstance(before, isl.Schedule) else before != after


def _of_code(program: Program, runs_alone: bool) -> set[str]:
    found, waiting = {"shared memory"} if program.shared else set(), [*program.body]
    parameters = {p.name for p in program.scop.parameters}
    while waiting:
        node = waiting.pop()
        if isinstance(node, Loop):
            found |= {"tile"} if node.role == "tile" or node.directives.tile else set()
            found |= {"parallel"} if node.parallel and not runs_alone else set()
        elif isinstance(node, Guard) and node.condition.names <= parameters:
            in_order = any(isinstance(inner, Jam) and inner.in_order for inner in every(node.body))
            found |= {"versions by distance"} if in_order else set()
        elif isinstance(node, Unroll):
            found |= {"words"} if node.word not in ("", COPY) else set()
        elif isinstance(node, Jam) and node.lanes > 1:
            found |= {"vectorise"} | ({"lanes in order"} if node.in_order else set()) | ({"scan"} if node.scans else set())
        waiting += getattr(node, "body", ())
    return found


def _of_loops(made: pipeline.Compiled) -> set[str]:
    """From the schedule tree: members of several iterators, loops that statements share anew, statements in several places."""
    known = made.scop.statements
    final, source = read(made.schedule, known), read(made.scop.schedule, known)
    found = set()
    if any(_is_skewed(piece) for _, loop in loops(final) for piece in pieces(loop.member)):
        found.add("skew")
    before = _shared(source)
    if any(count > before[pair] for pair, count in _shared(final).items()):
        found.add("fuse")
    origins = Counter(name.rpartition("_")[0] for name in known if name.rpartition("_")[2].isdigit())
    if any(count > 1 and f"{origin}_0" in known for origin, count in origins.items()) or _is_divided(final):
        found.add("index-set split")
    return found


def _is_skewed(piece: isl.PwAff) -> bool:
    affs = [aff for _, aff in piece.get_pieces()]
    return any(
        sum(not aff.get_coefficient_val(isl.dim_type.in_, d).is_zero() for d in range(aff.dim(isl.dim_type.in_))) > 1
        for aff in affs
    )


def _shared(node: Node, depth: int = 0) -> Counter:
    """How many loops each two statements have in common."""
    found = Counter({pair: depth for pair in combinations(sorted(statements(node)), 2)})
    for child in children(node):
        inner = _shared(child, depth + (not isinstance(node, Leaf) and hasattr(node, "member")))
        found = found | inner
    return found


def _is_divided(node: Node) -> bool:
    """Whether a statement runs in several places of the tree."""
    inside = [set(statements(child)) for child in children(node)]
    return any(a & b for a, b in combinations(inside, 2)) or any(_is_divided(child) for child in children(node))


@dataclass
class Tally:
    """programs: how many ran. wrong: those with another result. fired, pairs: in how many programs a transformation, and two in one
    compilation, were applied. passes: in how many a pass changed what it was given. hidden: in how many most floats that are compared
    are NaN or infinite.
    """

    programs: int = 0
    wrong: int = 0
    hidden: int = 0
    fired: Counter = field(default_factory=Counter)
    pairs: Counter = field(default_factory=Counter)
    passes: Counter = field(default_factory=Counter)

    def add(self, fired: Iterable[Iterable[str]], *, is_wrong: bool, is_hidden: bool, has_parts: bool = False) -> None:
        """One program. fired: of each of its compilations. has_parts: Python runs some of it."""
        extra = {"part boundary"} if has_parts else set()
        found = [{*each} for each in fired]
        self.passes.update({name.removeprefix(PASS) for each in found for name in each if name.startswith(PASS)})
        sets = [{name for name in each if not name.startswith(PASS)} | extra for each in found] or [extra]
        self.programs += 1
        self.wrong += is_wrong
        self.hidden += is_hidden
        self.fired.update(set().union(*sets))
        self.pairs.update({" ".join(pair) for each in sets for pair in combinations(sorted(each, key=NAMES.index), 2)})

    def __add__(self, other: Tally) -> Tally:
        return Tally(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)})

    def to_json(self) -> str:
        return json.dumps({f.name: getattr(self, f.name) for f in fields(self)})

    @staticmethod
    def from_json(text: str) -> Tally:
        data = json.loads(text)
        counts = {name: Counter(data.get(name, {})) for name in ("fired", "pairs", "passes")}
        return Tally(**{**data, **counts})

    def text(self) -> str:
        """How often each fired, and a triangle of how often two did."""
        lines = [f"{self.programs} programs, {self.wrong} wrong; in {self.hidden} most floats are NaN or infinite; fired:"]
        lines.append(" " * 24 + "".join(name[:9].rjust(10) for name in NAMES[:-1]))
        for row, name in enumerate(NAMES):
            cells = (str(self.pairs[f"{other} {name}"]).rjust(10) for other in NAMES[:row])
            lines.append(f"{self.fired[name]:7d} {name:16s}" + "".join(cells))
        lines.append("passes that changed something: " + ", ".join(f"{name} {n}" for name, n in self.passes.most_common()))
        return "\n".join(lines)

    def rare(self) -> list[str]:
        """What fired less often than it should in 50,000 programs."""
        single = [name for name in NAMES if self.fired[name] < LEAST]
        double = [
            f"{a} with {b}"
            for a, b in combinations(NAMES, 2)
            if not SELDOM_TOGETHER & {a, b} and self.pairs[f"{a} {b}"] < LEAST_PAIRS
        ]
        return single + double


def hides(values: Iterable[object]) -> bool:
    """Whether most of these floats are NaN or infinite, so that little is compared."""
    floats = [np.asarray(v) for v in values if isinstance(v, (float, np.floating, np.ndarray)) and np.asarray(v).dtype.kind in "fc"]
    total = sum(a.size for a in floats)
    return total > 0 and 2 * sum(int(np.isfinite(a).sum()) for a in floats) < total
