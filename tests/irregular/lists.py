"""Lists that grow in random programs: what is collected, stacks, frontiers of a search; and slices and elements in steps that data decide."""

from __future__ import annotations

from tests.irregular.expressions import bare, condition, real, row, whole
from tests.irregular.writer import Writer


def collected(w: Writer) -> None:
    """Writes a loop that collects numbers under conditions."""
    i, out = w.counter(), w.fresh("out", "found", "kept")
    is_real = w.chance(0.5)
    value = (lambda: f"float({bare(real(w, 1))})") if is_real else (lambda: f"int({bare(whole(w, 1))})")
    w.emit(f"{out} = {w.pick('[]', '[]', f'[{1.5 if is_real else 1}]')}")
    with w.block(f"for {i} in range(n):", rows=i, loops=i):
        with w.block(f"if {condition(w)}:"):
            w.emit(f"{out}.append({value()})")
        if w.chance(0.4):
            with w.block(f"elif {condition(w)}:"):
                w.emit(w.pick(f"{out}.pop()", f"{out}.clear()", f"{out}.extend([{value()}, {value()}])"))
        if w.chance(0.3):
            with w.block(f"if {out}:"):
                w.emit(f"{out}[-1] {w.pick('=', '+=', '=')} {value()}")
    if w.chance(0.2):
        w.emit(f"{out} += [2 * v for v in {out} if v > 0]")
    first, some = f"({out}[0] if {out} else -1)", f"{out}[{w.pick('-1', '2', '0')}]"
    w.arrays.append(w.pick(out, f"len({out})", first, f"np.array({out}, dtype=np.float64)", some))


def stack(w: Writer) -> None:
    """Writes a search that takes rows from a list and appends others."""
    seen, waiting, u = w.fresh("seen", "marks"), w.fresh("stack", "waiting"), w.fresh("u", "node")
    w.emit(f"{seen} = np.zeros(n, dtype=np.int64)", f"{waiting} = [0]", f"{seen}[0] = 1")
    head = w.pick(f"while {waiting}:", f"while len({waiting}) > 0:", f"for {u} in {waiting}:")
    with w.block(head, rows=u):
        if head.startswith("while"):
            w.emit(f"{u} = {waiting}.pop({w.pick('', '', '0', '-1')})")
        for _ in range(w.rng.randint(1, 2)):
            v = w.fresh("v", "other")
            w.emit(f"{v} = {w.pick(row(w), f'({u} * 2 + 1) % n', f'({u} + 3) % n')}")
            with w.block(f"if {seen}[{v}] == 0:"):
                w.emit(f"{seen}[{v}] = {seen}[{u}] + 1", f"{waiting}.append({v})")
    w.arrays.append(w.pick(seen, seen, f"len({waiting})"))


def frontier(w: Writer) -> None:
    """Writes a search level by level."""
    level, now, then, u = w.fresh("level", "depth"), w.fresh("now", "frontier"), w.fresh("then", "found"), w.fresh("u", "node")
    w.emit(f"{level} = np.full(n, -1)", f"{now} = [0]", f"{level}[0] = 0")
    with w.block(f"while {now}:"):
        w.emit(f"{then} = []")
        with w.block(f"for {u} in {now}:", rows=u):
            for step in (1, 2):
                v = w.fresh("v", "other")
                w.emit(f"{v} = ({u} * 2 + {step}) % n")
                with w.block(f"if {level}[{v}] < 0:"):
                    w.emit(f"{level}[{v}] = {level}[{u}] + 1", f"{then}.append({v})")
        w.emit(f"{now} = {then}")
    w.arrays.append(level)


def in_steps(w: Writer) -> None:
    """Writes a sieve or a sum in steps that data decide."""
    i, marks = w.counter(), w.fresh("marks", "is_prime")
    w.emit(f"{marks} = np.ones(n + 2, dtype=np.bool_)")
    with w.block(f"for {i} in range({w.pick('2', '2', '1', '0')}, n):", loops=i):
        with w.block(f"if {marks}[{i}]:"):
            w.emit(
                w.pick(f"{marks}[{i} * {i}::{i}] = False", f"{marks}[:{i}:-{i}] = False", f"{marks}[{i}::{i} + 1] = {i} % 2 == 0")
            )
    w.arrays.append(w.pick(marks, f"np.flatnonzero({marks})"))


def in_strides(w: Writer) -> None:
    """Writes sums over elements a number of places apart, as in resampling, and distances whose power the same or another number is."""
    i, step, total, k = w.counter(), w.fresh("step", "stride"), w.fresh("s", "acc"), w.fresh("k", "at")
    x, last = w.array("reals"), w.pick("", "", "", " + 1")  # the last one may be behind the end
    w.emit(f"{step} = {w.pick('max(n // 3, 1)', '2', '3', 'int(0.4 * n) + 1')}")
    with w.block(f"for {i} in range(n):", rows=i, loops=i):
        w.emit(f"{total} = 0.0")
        with w.block(f"for {k} in range((n - {i} + {step} - 1) // {step}{last}):"):
            place = w.pick(f"{i} + {k} * {step}", f"{step} * {k} + {i}", f"n - 1 - {i} - {k} * {step}")
            term = w.pick(f"{x}[{place}]", f"{x}[{place}] * {x}[{i}]", f"abs({x}[{place}]) ** {step}")
            w.emit(f"{total} += {term}")
            if w.chance(0.2):
                with w.block(f"if {condition(w, 0)}:"):
                    w.emit(w.pick("break", "continue"))
        if w.chance(0.7):
            w.emit(f"{w.array('reals', is_new=True)}[{i}] = {total}")
    if w.chance(0.3):
        w.know(reals=total)


def neighbours(w: Writer) -> None:
    """Writes lists of lists, of numbers or pairs, which loops and methods fill, and a loop over all of their elements."""
    i, adj, v = w.counter(), w.fresh("adj", "groups"), w.fresh("v", "other")
    u, total, has_pairs = w.fresh("u", "node"), w.fresh("total", "found"), w.chance(0.4)
    w.emit(f"{adj} = [[] for _ in range(n)]")

    def element() -> str:
        number = f"int({bare(whole(w, 1))})"
        return f"({number}, float({bare(real(w, 1))}))" if has_pairs else number

    with w.block(f"for {i} in range(n):", rows=i, loops=i):
        with w.block(f"if {condition(w)}:"):
            w.emit(f"{adj}[{w.pick(row(w), i)}].append({element()})")
        if w.chance(0.5):
            w.emit(f"{adj}[{i}].append({element()})")
        if w.chance(0.4):
            with w.block(f"if {adj}[{i}]:"):
                w.emit(w.pick(f"{adj}[{i}].pop()", f"{adj}[{i}].reverse()", f"del {adj}[{i}][0]", f"{adj}[{i}].clear()"))
        if w.chance(0.4):
            w.emit(
                w.pick(f"{adj}[{i}].insert(1, {element()})", f"{adj}[{i}].extend({adj}[n - 1][:2])", f"{adj}[{i}] += [{element()}]")
            )
        if w.chance(0.3) and not has_pairs:
            w.emit(f"{adj}[{i}].sort()")
    w.emit(f"{total} = 0")
    with w.block(f"for {u} in range(n):", rows=u, loops=u):
        head = f"{v}, weight" if has_pairs else v
        with w.block(f"for {head} in {w.pick(f'{adj}[{u}]', f'{adj}[{u}]', f'{adj}[{u}][::-1]', f'{adj}[{u}][1:]')}:"):
            w.emit(f"{total} = ({total} * 3 + {v} % 1000) % 1000")
    w.arrays.append(w.pick(adj, total, f"len({adj}[0])", f"({adj}, {total})"))


LISTS = (collected, collected, stack, stack, frontier, neighbours, neighbours, in_steps, in_strides)
