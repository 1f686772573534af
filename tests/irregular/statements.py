"""Random statements: stores, scatters, updates of scalars, branches, and loops of which data decide how often they run."""

from __future__ import annotations

import re

from tests.irregular.expressions import bare, condition, real, row, whole
from tests.irregular.writer import Writer

DEEPEST = 3  # loops in each other


def statement(w: Writer) -> None:
    """Writes a statement, or a loop of several."""
    is_inner = bool(w.scope.loops)
    if not is_inner or (len(w.scope.loops) < DEEPEST and w.chance(0.25)):
        w.rng.choice(_LOOPS)(w)
    elif w.chance(0.25):
        branch(w)
    else:
        w.rng.choice(_SIMPLE)(w)


def body(w: Writer, most: int = 3) -> None:
    """Writes a few statements."""
    for _ in range(w.rng.randint(1, most)):
        statement(w)


# Simple statements


def store(w: Writer) -> None:
    """Writes an assignment to an element, at a subscript that may be an element itself."""
    if w.chance(0.2):
        return scatter_matrix(w)
    name = w.array("reals" if w.chance(0.6) else "wholes")
    value = real(w) if w.parameters[name].kind == "reals" else whole(w)
    w.emit(f"{name}[{row(w)}] = {bare(value)}")


def update(w: Writer) -> None:
    """Writes `y[k[i]] += v` and its kin."""
    name = w.array("reals" if w.chance(0.6) else "wholes")
    if w.parameters[name].kind == "reals":
        w.emit(w.pick(f"{name}[{row(w)}] += {bare(real(w, 1))}", f"{name}[{row(w)}] *= 0.5"))
    else:
        w.emit(f"{name}[{row(w)}] {w.pick('+=', '-=', '^=', '|=', '&=')} {bare(whole(w, 1))}")


def scatter_matrix(w: Writer) -> None:
    """Writes an assignment to an element of a matrix, whose second subscript is any number below the number of columns."""
    name, is_real = w.matrix()
    column = w.pick("0", f"{whole(w, 0)} % {name}.shape[1]", f"{row(w)} % {name}.shape[1]")
    with w.block(f"if {name}.shape[1] > 0:"):
        w.emit(f"{name}[{row(w)}, {column}] {w.pick('=', '+=')} {bare(real(w, 1) if is_real else whole(w, 1))}")


def part(w: Writer) -> None:
    """Writes a change of a slice or row that data choose, or a sum of one."""
    if w.chance(0.3):
        name, is_real = w.matrix()
        w.emit(w.pick(f"{name}[{row(w)}] += {'0.5' if is_real else '1'}", f"{name}[{row(w)}, :] = {name}[{row(w)}]"))
        return
    name, one, other = w.array("reals"), bare(whole(w, 1)), bare(whole(w, 1))
    ends = w.pick(
        f"{one}:{other}", f"{one}:", f":{other}", f"{one}:{one} + 3", f"{one}:{other}:2", f"{one}::-1", f"{one}:{other}:-2"
    )
    if w.scope.reals and w.chance(0.4):
        few = f"{one}:{one} + {w.pick('3', '5')}"  # of more than 7 numbers NumPy adds partial sums
        w.emit(f"{w.rng.choice(w.scope.reals)} += {name}[{few}].sum()")
    else:
        w.emit(w.pick(f"{name}[{ends}] *= 0.5", f"{name}[{ends}] = {bare(real(w, 1))}", f"{name}[{ends}] += {name}[{row(w)}]"))


def flag(w: Writer) -> None:
    """Writes an assignment of a condition."""
    mask = w.array("flags")
    w.emit(f"{mask}[{row(w)}] = {w.pick(f'not {mask}[{row(w)}]', 'True', f'{real(w, 1)} > {real(w, 0)}')}")


def swap(w: Writer) -> None:
    """Writes an exchange of two elements."""
    name, one, other = w.array(w.pick("reals", "wholes", "rows")), row(w), row(w)
    w.emit(f"{name}[{one}], {name}[{other}] = {name}[{other}], {name}[{one}]")


def new_index(w: Writer) -> None:
    """Writes a change of an index array, whose elements stay rows."""
    w.emit(f"{w.array('rows')}[{row(w)}] = {any_row(w)}")


def carried(w: Writer) -> None:
    """Writes an update of a scalar from before the loop."""
    if w.scope.reals and w.chance(0.6):
        name = w.rng.choice(w.scope.reals)
        value = bare(real(w, 1))
        w.emit(
            w.pick(f"{name} += {value}", f"{name} = {name} * 0.5 + {value}", f"{name} = max({name}, {value})", f"{name} -= {value}")
        )
    elif w.scope.wholes:
        name = w.rng.choice(w.scope.wholes)
        value = whole(w, 1)
        is_small = not set(re.findall(r"\w+", value)) & {*w.scope.wholes}  # a number that adds to itself would leave 64 bits
        added = bare(value) if is_small else f"{value} & 63"
        w.emit(w.pick(f"{name} += 1", f"{name} += {added}", f"{name} = ({name} * 31 + {value}) % 1009", f"{name} ^= {added}"))
    else:
        store(w)


def local(w: Writer) -> None:
    """Writes an assignment to a new scalar."""
    if w.chance(0.5):
        name = w.fresh("v", "r", "d")
        w.emit(f"{name} = {bare(real(w))}")
        w.know(reals=name)
    else:
        name = w.fresh("h", "c", "q")
        w.emit(f"{name} = {bare(whole(w))}")
        w.know(wholes=name)


def computed_row(w: Writer) -> None:
    """Writes a new scalar that is a row, kept in range."""
    name = w.fresh("at", "dest", "src")
    w.emit(f"{name} = {any_row(w)}")
    w.know(rows=name)


def any_row(w: Writer) -> str:
    """Returns a row, or a number made one where there are rows: affine loops divide by zero as NumPy does."""
    return w.pick(row(w), f"abs({whole(w, 1)}) % n") if w.scope.rows else row(w)


def leave(w: Writer) -> None:
    """Writes a condition under which the loop ends, or its iteration, or the function."""
    with w.block(f"if {condition(w)}:"):
        form = w.rng.random()
        if form < 0.2 and w.result:
            w.emit(f"return {returned(w)}")
        else:
            w.emit("break" if form < 0.6 else "continue")


def refuse(w: Writer) -> None:
    """Writes a condition on data under which the call ends with an exception, which few calls meet."""
    text = condition(w)
    if w.chance(0.5):
        w.emit(f"assert not ({text} and {condition(w)} and {condition(w)}), 'broken'")
    else:
        with w.block(f"if {text} and {condition(w)} and {condition(w)}:"):
            w.emit(w.pick("raise ValueError('refused')", "raise RuntimeError"))


def returned(w: Writer) -> str:
    """Returns what a return gives: as many values as each other one, of the same kinds."""
    texts = []
    for kind in w.result:
        if kind == "real":
            texts.append(w.rng.choice(3 * w.scope.reals + (w.array("real"), "0.5")))
        elif kind == "whole":
            texts.append(w.rng.choice(3 * (w.scope.wholes + w.scope.rows) + (w.array("whole"), "-1")))
        else:
            texts.append(kind)
    return ", ".join(texts)


def branch(w: Writer) -> None:
    """Writes an `if` on data, with further branches."""
    with w.block(f"if {condition(w)}:"):
        body(w, 2)
    for _ in range(w.rng.choice((0, 0, 0, 1, 2))):
        with w.block(f"elif {condition(w)}:"):
            w.rng.choice(_SIMPLE)(w)
    if w.chance(0.4):
        with w.block("else:"):
            w.rng.choice(_SIMPLE)(w)


# Loops


def over_rows(w: Writer) -> None:
    """Writes a loop over rows."""
    i = w.counter()
    head = w.pick("range(n)", "range(n)", "range(n)", "range(0, n, 2)", "range(n - 1, -1, -1)", "range(1, n)")
    if w.scope.rows and w.chance(0.1):
        head = f"range({w.scope.rows[0]}, n, {w.scope.rows[0]} + 1)"
    elif w.chance(0.05):
        head = f"range(0, n, {w.array('counts')}[-1])"
    with w.block(f"for {i} in {head}:", rows=i, loops=i):
        body(w)
    otherwise(w)
    w.know(**({"wholes": i} if w.chance(0.15) else {}))


def over_entries(w: Writer) -> None:
    """Writes a loop over the entries of a row, as a matrix in compressed rows has them, or over all entries."""
    i = w.scope.rows[0] if w.scope.rows and w.scope.rows[0] in w.scope.loops else ""
    k = w.counter()
    ptr = w.array("pointers") if i else ""
    w.array("columns")
    head = w.pick(f"range({ptr}[{i}], {ptr}[{i} + 1])", f"range({ptr}[{i} + 1] - 1, {ptr}[{i}] - 1, -1)") if i else "range(m)"
    with w.block(f"for {k} in {head}:", entries=k, loops=k):
        body(w)
    otherwise(w)


def counted(w: Writer) -> None:
    """Writes a loop that runs as often as an element says."""
    k = w.counter()
    one = row(w) if w.scope.rows else "-1"
    with w.block(f"for {k} in range({w.array('counts')}[{one}]{w.pick('', '', ' + 1', ', -1, -1')}):", wholes=k, loops=k):
        body(w, 2)
    otherwise(w)


def while_below(w: Writer) -> None:
    """Writes a `while` on a cursor that goes up, and on data; it moves first where the rest of the body may be left."""
    k = w.fresh("pos", "cur", "lo")
    w.emit(f"{k} = 0")
    with w.block(f"while {k} < n and {_joinable(w, k)}:", loops=k):
        if w.chance(0.5):
            i = w.fresh("here", "old")
            w.emit(f"{i} = {k}", f"{k} += {w.pick('1', '1', '2')}")
            w.know(rows=i)
            body(w, 2)
        else:
            w.know(rows=k)
            w.rng.choice(_PLAIN)(w)
            w.emit(f"{k} += 1")
    otherwise(w)


def while_steps(w: Writer) -> None:
    """Writes a `while` on data that ends after a number of steps at the latest."""
    steps = w.fresh("steps", "it", "tries")
    w.emit(f"{steps} = 0")
    most = w.rng.randint(2, 9)
    if w.chance(0.5):
        with w.block(f"while {steps} < {most} and {_joinable(w, '')}:", counters=steps, loops=steps):
            w.emit(f"{steps} += 1")
            body(w, 2)
        return otherwise(w)
    with w.block("while True:", counters=steps, loops=steps):
        w.emit(f"{steps} += 1", f"if {steps} > {most}{w.pick('', f' or {condition(w, 0)}')}:", "    break")
        body(w, 2)


def otherwise(w: Writer) -> None:
    """Writes the `else` of a loop, of some loops."""
    if w.chance(0.12) and (w.scope.rows or w.scope.reals or w.scope.wholes):
        with w.block("else:"):
            w.rng.choice(_PLAIN if w.scope.rows else (carried,))(w)


def _joinable(w: Writer, cursor: str) -> str:
    """Returns a condition behind `and`, in which the cursor is a row already."""
    kept = w.scope
    if cursor:
        w.know(rows=cursor)
    text = condition(w, 0)
    w.scope = kept
    return text


_PLAIN = (store, store, store, update, update, update, carried, carried, flag, swap, new_index)
_SIMPLE = (*_PLAIN, *_PLAIN, part, part, local, local, computed_row, computed_row, leave, leave, leave, leave, refuse)
_LOOPS = (over_rows, over_rows, over_rows, over_entries, over_entries, counted, while_below, while_below, while_steps)
