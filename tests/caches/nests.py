"""Small random nests as text, what they use in which order, and the distances of reuse in plain Python."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import dataclass

ITERATORS = "ijk"


@dataclass(frozen=True)
class Nest:
    """source: a kernel `f` on arrays A, B (2-D) and x (1-D) and numbers n, m. traced: the same as calls use(statement, time, names, references),
    where names are those of the coordinates of time, "" for places in sequences.
    """

    source: str
    traced: str


def nest(seed: int) -> Nest:
    """Every loop runs over 1 ... number - 2, or to the iterator around, and subscripts are iterators, at most one aside."""
    chosen = random.Random(seed)
    lines, traced = [], []
    counter = iter(range(9))
    _loops(chosen, chosen.choice([1, 2, 2, 3, 3]), [], [], [], lines, traced, counter, 1)
    bodies = "\n".join(lines), "\n".join(traced)
    return Nest(f"def f(A, B, x, n: int, m: int):\n{bodies[0]}\n", f"def f(n, m, use):\n{bodies[1]}\n")


def _loops(chosen, depth, around, time, names, lines, traced, counter, indent):
    pad = "    " * indent
    if depth == 0:
        statements = [_statement(chosen, around) for _ in range(chosen.choice([1, 1, 2]))]
        for place, (text, references) in enumerate(statements):
            number = next(counter)
            lines.append(pad + text)
            inside = [*time, str(place)] if len(statements) > 1 else time
            named = [*names, ""] if len(statements) > 1 else names
            traced.append(f"{pad}use('S{number}', ({', '.join(inside)},), {tuple(named)!r}, [{', '.join(references)}])")
        return
    it = ITERATORS[len(around)]
    size = chosen.choice(["n", "m"])
    top = f"{around[-1]} + 1" if around and chosen.random() < 0.25 else f"{size} - 1"
    if depth == 2 and chosen.random() < 0.25:  # two loops, one after the other
        for place in range(2):
            lines.append(f"{pad}for {it} in range(1, {top}):")
            traced.append(lines[-1])
            _loops(chosen, 1, [*around, it], [*time, str(place), it], [*names, "", it], lines, traced, counter, indent + 1)
        return
    lines.append(f"{pad}for {it} in range(1, {top}):")
    traced.append(lines[-1])
    _loops(chosen, depth - 1, [*around, it], [*time, it], [*names, it], lines, traced, counter, indent + 1)


def _statement(chosen, around):
    def reference():
        array = chosen.choice("AABx")
        along = chosen.sample(around, min(2, len(around))) if chosen.random() < 0.9 else chosen.choices(around, k=2)
        along = [*along, *along][: 1 if array == "x" else 2]
        return array, tuple(it + chosen.choice(["", "", "", " + 1", " - 1"]) for it in along)

    reads = list(dict.fromkeys(reference() for _ in range(chosen.choice([1, 2, 3]))))
    write = chosen.choice([reference(), reads[0]])
    text = " + ".join(f"{a}[{', '.join(s)}]" for a, s in reads) + " + 1.0"
    used = [f"({a!r}, ({', '.join(s)},))" for a, s in [*reads, write]]
    return f"{write[0]}[{', '.join(write[1])}] = {text}", used


@dataclass(frozen=True)
class Used:
    reference: tuple[str, int]
    array: str
    element: tuple[int, ...]
    line: tuple
    time: tuple[int, ...]
    names: tuple[str, ...]


def events(traced: str, n: int, m: int, per_line: int) -> list[Used]:
    """In order. Lines by rows."""
    found = []

    def use(statement, time, names, references):
        for position, (array, element) in enumerate(references):
            line = (array, *element[:-1], element[-1] // per_line)
            found.append(Used((statement, position), array, element, line, (*time, position), (*names, "")))

    scope = {}
    exec(traced, scope)
    scope["f"](n, m, use)
    return found


def reuses(uses: list[Used], chosen: set | None = None) -> tuple[Counter, dict]:
    """(first uses by reference; by reference, source, kind and carrying loop, the distances). chosen: (reference, time) of the
    uses to tell of; None: all.
    """
    first, found = Counter(), defaultdict(list)
    stack, last, elements = [], {}, defaultdict(list)  # the stack: lines, the newest last
    for now in uses:
        if now.line in last:
            before = last[now.line]
            distance = len(stack) - 1 - stack.index(now.line)
            stack.remove(now.line)
            carried = next(k for k, (a, b) in enumerate(zip(now.time, before.time)) if a != b)
            again = any(other[:carried] == now.time[:carried] for other in elements[now.array, now.element])
            kind = "temporal" if again else "spatial"
            if chosen is None or (now.reference, now.time) in chosen:
                found[now.reference, before.reference, kind, now.names[carried]].append(distance)
        elif chosen is None or (now.reference, now.time) in chosen:
            first[now.reference] += 1
        last[now.line] = now
        elements[now.array, now.element].append(now.time)
        stack.append(now.line)
    return first, found


def kernel_of(source, folder):
    """The function, with a file that has its source."""
    path = folder / "f.py"
    path.write_text(source)
    scope = {}
    exec(compile(source, str(path), "exec"), scope)
    return scope["f"]
