"""Sweeps over rows until nothing changes, and rows that write elements of their own: what threads may share though data end it."""

from __future__ import annotations

from tests.irregular.expressions import bare, condition, real
from tests.irregular.writer import Writer, result


def converging(w: Writer) -> None:
    """Writes sweeps over all rows until they change little, or too often: each sweep's loops may run on threads, with sums beside them."""
    i, it = w.counter(), w.fresh("it", "sweep", "rounds")
    x, new, change = w.array("reals"), w.fresh("new", "nxt"), w.fresh("change", "err")
    w.emit(f"{new} = np.zeros(n)", f"{it} = 0", f"{change} = {w.pick('1.0', '0.0')}")
    form = w.rng.randrange(3)
    most = w.rng.randint(0, 5)
    loop = (f"while {change} > 1e-3 and {it} < {most}:", "while True:", f"for {it} in range({most}):")[form]
    with w.block(loop):
        if form == 1:
            w.emit(f"{it} += 1")
        w.emit(f"{change} = {w.pick('0.0', '1.0')}")
        if w.chance(0.3):
            with w.block(f"if {condition(w)}:"):
                w.emit("break")
        row = f"{x}[{i}] * 0.5 + {w.pick('0.25', bare(real(w, 1)))}"
        with w.block(f"for {i} in range(n):", rows=i, loops=i):
            if w.chance(0.5):
                total = w.fresh("s", "total")
                w.emit(f"{total} = {x}[{i}]")
                with w.block(f"while 1.0 < abs({total}) < 1e30:"):
                    w.emit(f"{total} *= 0.5")
                row = f"{total} + {w.pick('0.0', '0.125')}"
            if w.chance(0.5):
                w.emit(f"{new}[{i}] = {row}")
                w.emit(w.pick(f"{change} += abs({new}[{i}] - {x}[{i}])", f"{change} = max({change}, abs({new}[{i}] - {x}[{i}]))"))
            else:
                value = w.fresh("value")
                w.emit(f"{value} = {row}", f"{new}[{i}] = {value}")
                with w.block(f"if abs({x}[{i}]) > {change}:"):
                    w.emit(f"{change} = abs({x}[{i}])")
        if form != 0:
            with w.block(f"if {change} < {w.pick('0.5', '1e-3')} or {it} > {most}:"):
                w.emit("break")
        with w.block(f"for {i} in range(n):", rows=i, loops=i):
            w.emit(f"{x}[{i}] = {new}[{i}]")
        if form == 0:
            w.emit(f"{it} += 1")
    result(w, "real", change)
    result(w, "array", new)


def settled(w: Writer) -> None:
    """Writes sweeps with a flag of whether something changed, which end by it, or by a return."""
    i, it, changed = w.counter(), w.fresh("it", "generation"), w.fresh("changed", "same", "hit")
    x, old = w.array("reals"), w.fresh("old", "before")
    no, yes = w.rng.choice([("False", "True"), ("True", "False"), ("0", "1"), ("0.0", "2.5"), ("1", "1")])
    w.emit(f"{old} = np.zeros(n)", f"{changed} = {no}")
    with w.block(f"for {it} in range({w.rng.randint(0, 6)}):", wholes=it):
        w.emit(f"{changed} = {w.pick(no, no, f'{it} > 0')}")
        with w.block(f"for {i} in range({w.pick('n', '1, n - 1')}):", rows=i, loops=i):
            new = w.pick(f"np.floor(0.5 * {x}[{i}])", f"0.5 * {x}[{i}]", bare(real(w, 1)))
            test = w.pick(f"{new} != {old}[{i}]", f"{x}[{i}] > 1.0", condition(w))
            with w.block(f"if {test}:"):
                w.emit(f"{changed} = {yes}", *([f"{old}[{i}] = 0.5"] if w.chance(0.3) else []))
            w.emit(f"{old}[{i}] = {new}")
        with w.block(f"for {i} in range(n):", rows=i, loops=i):
            w.emit(f"{x}[{i}] = {old}[{i}]")
        with w.block(f"if {changed} {w.pick('==', '!=')} {no}:"):
            w.emit(f"return {returned}" if (returned := _returned(w)) and w.chance(0.5) else "break")
    result(w, "array", old)
    result(w, "real", changed)


def _returned(w: Writer) -> str:
    return ", ".join(w.array("real") if kind == "real" else "-1" if kind == "whole" else kind for kind in w.result)


def row_entries(w: Writer) -> None:
    """Writes rows of which each changes its entries, between its pointers: they may run on threads where the pointers do not fall."""
    i, k = w.counter(), w.fresh("e", "q")
    ptr, values = w.array("pointers"), w.array("values")
    w.array("columns")
    with w.block(f"for {i} in range(n):", rows=i, loops=i):
        with w.block(f"for {k} in range({ptr}[{i}], {ptr}[{i} + 1]):", entries=k, loops=k):
            if w.chance(0.3):
                with w.block(f"if {condition(w, 0)}:"):
                    w.emit(w.pick("continue", "break"))
            w.emit(f"{values}[{k}] {w.pick('=', '*=', '+=')} {w.pick(bare(real(w, 1)), f'x[{i}] * x[col[{k}]]', '0.5')}")
    w.array("reals")
    w.arrays.append(values)


def best_row(w: Writer) -> None:
    """Writes a search over rows whose costs take loops, and what the best one so far, or a recurrence over rows, carries."""
    i, k = w.counter(), w.fresh("e", "q")
    cost, best, place, state = w.fresh("cost"), w.fresh("best", "least"), w.fresh("place", "at"), w.fresh("state", "mean")
    ptr, x = w.array("pointers"), w.array("reals")
    w.array("columns")
    w.emit(f"{best} = {w.pick('1e30', '0.0', f'{x}[0] if n > 0 else 0.0')}", f"{place} = -1", f"{state} = 0.5")
    with w.block(f"for {i} in range({w.pick('n', '1, n')}):", rows=i, loops=i):
        w.emit(f"{cost} = {w.pick('0.0', f'{x}[{i}]')}")
        with w.block(f"for {k} in range({ptr}[{i}], {ptr}[{i} + 1]):", entries=k, loops=k):
            w.emit(f"{cost} {w.pick('+=', '-=', '*=')} {w.pick(f'val[{k}] * {x}[col[{k}]]', bare(real(w, 1)))}")
        w.array("values")
        if w.chance(0.4):
            w.emit(f"{w.array('reals', is_new=True)}[{i}] = {cost}")
        with w.block(f"if {w.pick(f'{cost} < {best}', f'abs({cost}) <= {best}', f'{cost} > {best} or {place} < 0')}:"):
            w.emit(f"{best} = {cost}", f"{place} = {i}")
        if w.chance(0.5):
            w.emit(f"{state} = 0.5 * {state} + {w.pick(cost, '1.0', f'{x}[{i}]')}")
    result(w, "real", best)
    result(w, "whole", place)
    result(w, "real", state)


SWEEPS = (converging, converging, settled, settled, row_entries, best_row)
