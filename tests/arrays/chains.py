"""Random programs of linear algebra against NumPy, with a count of how often each rule fired:

    python -m tests.arrays.chains --programs 1000 --seed 1

Chains of products, einsums, scaled and transposed operands, sums, traces and outer products of random sizes, in several statements.
Arguments hold small whole numbers, of which NumPy and polyml compute the same bits in any order.
"""

from __future__ import annotations

import argparse
import random
import sys
import warnings
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

import polyml
from tests.arrays.differential import defined
from tests.seed_batches import in_batches
from tests.transformations import ALGEBRA, Tally, recording

Checked = tuple[str, list[list[str]]]
SIZES = "NMKL"
_TYPES = ("f8", "f8", "f8", "f4", "i8", "i4", "c16")
_EXTENTS = (1, 2, 3, 4, 7, 9, 20, 33)
Shape = tuple[str, ...]


@dataclass(frozen=True)
class ChainProgram:
    """A function `f` of arrays of these shapes (sizes by name) and one type; `extents` has the sizes of each run."""

    seed: int
    source: str
    shapes: dict[str, Shape]
    dtype: str
    extents: tuple[dict[str, int], ...]

    def arguments(self, run: int) -> list[np.ndarray]:
        rng = np.random.default_rng(self.seed * 5 + run)
        made = [rng.integers(-2, 3, tuple(self.extents[run][d] for d in shape)) for shape in self.shapes.values()]
        return [each.astype(self.dtype) for each in made]


class _Generator:
    def __init__(self, seed: int):
        self.rng, self.seed = random.Random(seed), seed
        self.shapes: dict[str, Shape] = {}
        self.once: dict[str, Shape] = {}  # results of statements that a later one is to read, and none after it
        self.dtype = self.rng.choice(_TYPES)

    def program(self) -> ChainProgram:
        rng, lines, locals_ = self.rng, [], {}
        for _ in range(rng.randint(1, 3)):
            if rng.random() < 0.6:
                name, shape = f"p{len(lines)}", (rng.choice(SIZES), rng.choice(SIZES))
                lines.append(f"{name} = {self.product(shape, 1)}")
                self.once[name] = shape
            shape = tuple(rng.choice(SIZES) for _ in range(rng.choice((1, 1, 2, 2))))
            text = self.value(shape, rng.randint(1, 3))
            choice = rng.random()
            if choice < 0.3 and locals_:
                name = rng.choice(sorted(locals_))
                lines.append(f"{name}{rng.choice(('[...] =', ' +='))} {self.value(locals_[name], 2)}")
            elif choice < 0.45:
                lines.append(f"r{len(lines)} = np.sum({text})")
                continue
            name = f"t{len(lines)}"
            lines.append(f"{name} = {text}")
            if rng.random() < 0.4:
                lines.append(f"{name}u = {text} * 2")
                locals_[f"{name}u"] = shape
            locals_[name] = shape
        results = [f"{name} * 1" for name in locals_] + [line.split(" ")[0] for line in lines if line.startswith("r")]
        body = "".join(f"    {line}\n" for line in [*lines, f"return {', '.join(results)}"])
        extents = [dict(zip(SIZES, rng.choices(_EXTENTS, k=len(SIZES)))) for _ in range(2)]
        source = f"def f({', '.join(self.shapes)}):\n{body}"
        return ChainProgram(self.seed, source, self.shapes, self.dtype, tuple(extents))

    def leaf(self, shape: Shape) -> str:
        rng = self.rng
        if len(shape) == 2 and rng.random() < 0.25:
            return f"{self.leaf(shape[::-1])}.T"
        found = [name for name, own in self.shapes.items() if own == shape]
        if found and rng.random() < 0.6 or len(self.shapes) >= 9 and found:
            return rng.choice(found)
        name = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[len(self.shapes)] if len(self.shapes) < 26 else f"Z{len(self.shapes)}"
        self.shapes[name] = shape
        return name

    def value(self, shape: Shape, depth: int) -> str:
        rng = self.rng
        if depth <= 0 or rng.random() < 0.1:
            return self.leaf(shape)
        makers = [self.product] * 6 + [
            self.scaled,
            self.common,
            self.reduced,
            self.outer,
            self.einsum,
            self.einsum,
            self.transposed,
        ]
        return rng.choice(makers)(shape, depth - 1)

    def product(self, shape: Shape, depth: int) -> str:
        name = next((name for name, own in self.once.items() if own[0] == shape[0]), None)
        if name is not None and self.rng.random() < 0.7:
            return f"({name} @ {self.value((self.once.pop(name)[1], *shape[1:]), depth)})"
        inner = self.rng.choice(SIZES)
        if len(shape) == 2:
            return f"({self.value((shape[0], inner), depth)} @ {self.value((inner, shape[1]), depth)})"
        if self.rng.random() < 0.5:
            return f"({self.value((shape[0], inner), depth)} @ {self.value((inner,), depth)})"
        return f"({self.value((inner,), depth)} @ {self.value((inner, shape[0]), depth)})"

    def scaled(self, shape: Shape, depth: int) -> str:
        a = self.value(shape, depth)
        return self.rng.choice((f"(2 * {a})", f"({a} * 3)", f"(-{a})"))

    def common(self, shape: Shape, depth: int) -> str:
        op, inner = self.rng.choice("+-"), self.rng.choice(SIZES)
        if len(shape) == 1:
            a = self.leaf((inner,))
            return f"({a} @ {self.value((inner, *shape), depth)} {op} {a} @ {self.value((inner, *shape), depth)})"
        a = self.leaf((inner, shape[1]))
        return f"({self.value((shape[0], inner), depth)} @ {a} {op} {self.value((shape[0], inner), depth)} @ {a})"

    def reduced(self, shape: Shape, depth: int) -> str:
        other = self.rng.choice(SIZES)
        if len(shape) == 2:
            return f"(np.trace({self.product((other, other), depth)}) * {self.value(shape, depth)})"
        if self.dtype == "i4":
            return self.value(shape, depth)
        axis = self.rng.choice((0, 1))
        text = f"np.sum({self.value((other, *shape) if axis == 0 else (*shape, other), depth)}, axis={axis})"
        return (
            text if self.rng.random() < 0.8 else f"(np.diagonal({self.product((shape[0], shape[0]), depth)}) * 1)"
        )  # NumPy's is read-only

    def outer(self, shape: Shape, depth: int) -> str:
        if len(shape) == 2:
            return f"np.outer({self.value(shape[:1], depth)}, {self.value(shape[1:], depth)})"
        inner = self.rng.choice(SIZES)
        return f"(np.outer({self.value(shape, depth)}, {self.leaf((inner,))}) @ {self.leaf((inner,))})"

    def einsum(self, shape: Shape, depth: int) -> str:
        names = "abcdef"
        size_of = dict(zip(names, (*shape, *(self.rng.choice(SIZES) for _ in range(3)))))
        result = names[: len(shape)]
        operands = ["".join(self.rng.sample(sorted(size_of), self.rng.randint(1, 2))) for _ in range(self.rng.randint(2, 4))]
        missing = [c for c in result if c not in "".join(operands)]
        operands += ["".join(missing)] if missing else []
        arrays = ", ".join(self.leaf(tuple(size_of[c] for c in own)) for own in operands)
        return f"np.einsum('{','.join(operands)}->{result}', {arrays})"

    def transposed(self, shape: Shape, depth: int) -> str:
        return f"{self.product(shape[::-1], depth)}.T" if len(shape) == 2 else self.value(shape, depth)


def generate(seed: int) -> ChainProgram:
    """The program of a seed."""
    return _Generator(seed).program()


def check(program: ChainProgram, fp: str = "reassociate") -> tuple[str, Counter[str]]:
    """("" or what differs from NumPy, how often which kind of rewriting fired)."""
    function = defined(program.seed, program.source)
    kernel = polyml.kernel(cache=False, fp=fp, fallback="error", threads=1)(function)
    for run in range(len(program.extents)):
        given, own = program.arguments(run), program.arguments(run)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = function(*given)
            if not np.all([np.all(np.abs(each) < _exact(program.dtype)) for each in _arrays(wanted)]):
                continue  # whole numbers that floats do not hold
            got = kernel(*own)
        for one, other in zip(_arrays(wanted), _arrays(got)):
            if np.shape(one) != np.shape(other) or one.dtype != other.dtype or not np.array_equal(one, other):
                return f"run {run} with {program.extents[run]}: {other!r} instead of {one!r}", Counter()
    notes = {
        n for form in kernel._specialisations.values() if form.artifact for n in form.artifact.notes if n.startswith("algebra:")
    }
    return "", Counter(map(kind_of, notes))


def _exact(dtype: str) -> float:
    return {"f4": 2.0**20, "f8": 2.0**45, "c16": 2.0**45}.get(dtype, np.inf)


def _arrays(value: object) -> tuple:
    return value if isinstance(value, tuple) else (value,)


def kind_of(note: str) -> str:
    """What a note of `explain` says was done, as one of the names in `tests.transformations.ALGEBRA`."""
    shared, joined, ordered, rewritten = ALGEBRA
    if "is computed once" in note:
        return shared
    if "is computed where it is used" in note:
        return joined
    return ordered if "`np.einsum(" in note else rewritten


def checked(fp: str, seed: int) -> Checked:
    """ "" or what is wrong with its program, and for each compilation what fired; the rules of algebra count as one more."""
    with recording() as seen:
        try:
            wrong, rules = check(generate(seed), fp)
        except Exception as problem:
            wrong, rules = f"{type(problem).__name__}: {problem}", Counter()
    return wrong, [*(sorted(each) for each in set(seen)), sorted(rules)]


def campaign(programs: int, seed: int, fp: str, jobs: int = 1) -> tuple[list[str], Tally]:
    """What failed, and in how many programs each transformation and each kind of rewriting fired."""
    failed, tally = [], Tally()
    seeds, work = range(seed, seed + programs), partial(checked, fp)
    for number, (wrong, fired) in zip(seeds, map(work, seeds)) if jobs == 1 else in_batches(work, seeds, jobs):
        tally.add(fired, is_wrong=bool(wrong), is_hidden=False)
        if wrong:
            failed.append(f"seed {number}: {wrong}\n{generate(number).source}")
    return failed, tally


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--fp", default="reassociate", choices=("strict", "reassociate", "fast"))
    parser.add_argument("--tally", type=Path, help="write what fired to this file, as JSON")
    chosen = parser.parse_args()
    failures, counts = campaign(chosen.programs, chosen.seed, chosen.fp, chosen.jobs)
    print("\n".join(failures))
    print(counts.text())
    if chosen.tally:
        chosen.tally.write_text(counts.to_json())
    sys.exit(bool(failures))
