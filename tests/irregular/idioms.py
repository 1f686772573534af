"""What people write with loops that data decide: rows of a sparse matrix, queues, searches, counts, chains; with random parts."""

from __future__ import annotations

from tests.irregular.expressions import bare, condition, real, whole
from tests.irregular.lists import LISTS
from tests.irregular.sweeps import SWEEPS
from tests.irregular.writer import Parameter, Writer, result


def sparse_product(w: Writer) -> None:
    """Writes a product with a matrix in compressed rows, or another sum over the entries of each row; rows are independent."""
    i = w.counter()
    y, ptr = w.array("reals", is_new=True), w.array("pointers")
    total, k = w.fresh("s", "acc", "total"), "k" if i != "k" else "l"
    w.array("columns")
    with w.block(f"for {i} in range(n):", rows=i, loops=i):
        w.emit(f"{total} = {w.pick('0.0', f'{y}[{i}]')}")
        with w.block(f"for {k} in range({ptr}[{i}], {ptr}[{i} + 1]):", entries=k, loops=k):
            if w.chance(0.3):
                with w.block(f"if {condition(w, 0)}:"):
                    w.emit(w.pick("continue", "continue", "break"))
            term = w.pick(f"val[{k}] * x[col[{k}]]", f"x[col[{k}]]", bare(real(w)))
            w.array("values"), w.array("reals")
            w.emit(w.pick(f"{total} += {term}", f"{total} += {term}", f"{total} = max({total}, {term})", f"{total} -= {term}"))
        w.emit(f"{y}[{i}] {w.pick('=', '=', '+=')} {total}{w.pick('', '', ' * 0.5')}")
    result(w, "real", total if w.chance(0.2) else f"{y}[-1]" if w.chance(0.1) else y)


def histogram(w: Writer) -> None:
    """Writes counts or sums at subscripts that are elements."""
    i = w.counter()
    count = w.fresh("count", "bins", "hist")
    is_real = w.chance(0.4)
    w.emit(f"{count} = np.zeros(n{'' if is_real else ', dtype=np.int64'})")
    with w.block(f"for {i} in range(n):", rows=i, loops=i):
        binned = f"min(abs(int({w.array('reals')}[{i}] * {w.rng.randint(1, 4)} / 2.0)), n - 1)"
        where = w.pick(f"{w.array('rows')}[{i}]", f"abs({w.array('wholes')}[{i}]) % n", binned)
        if w.chance(0.3):
            with w.block(f"if {condition(w)}:"):
                w.emit("continue")
        w.emit(f"{count}[{where}] += {bare(real(w, 1)) if is_real else w.pick('1', '1', bare(whole(w, 1)))}")
    if w.chance(0.4):
        with w.block(f"for {i} in range(1, n):"):
            w.emit(f"{count}[{i}] += {count}[{i} - 1]")
    result(w, "array", count)


def first_of(w: Writer) -> None:
    """Writes a search for the first row with a property, with its position behind the loop."""
    i, found = w.counter(), w.fresh("found", "at", "first")
    w.emit(f"{found} = {w.pick('-1', 'n')}")
    with w.block(f"for {i} in range({w.pick('n', 'n - 1, -1, -1', '0, n, 2')}):", rows=i, loops=i):
        with w.block(f"if {condition(w)}:"):
            w.emit(f"{found} = {i}", "break")
    if w.chance(0.4):
        with w.block("else:"):
            w.emit(f"{found} = {w.pick('-2', w.array('whole'))}")
    result(w, "whole", found)


def largest(w: Writer) -> None:
    """Writes a maximum or minimum with its position."""
    i, best, where = w.counter(), w.fresh("best", "top"), w.fresh("where", "pos")
    x = w.array("reals")
    w.emit(f"{best} = {w.pick('-1e30', '0.0', '-np.inf')}", f"{where} = -1")
    with w.block(f"for {i} in range(n):", rows=i, loops=i):
        if w.chance(0.3):
            with w.block(f"if {condition(w)}:"):
                w.emit("continue")
        with w.block(f"if {x}[{i}] {w.pick('>', '>=')} {best}:"):
            w.emit(f"{best} = {x}[{i}]", f"{where} = {i}")
    result(w, "whole", where)
    result(w, "real", best)


def compaction(w: Writer) -> None:
    """Writes the elements with a property next to each other, and counts them."""
    i, k = w.counter(), w.fresh("kept", "top")
    x = w.array("reals")
    out = w.fresh("out", "packed")
    w.emit(f"{out} = np.zeros(n)", f"{k} = 0")
    with w.block(f"for {i} in range(n):", rows=i, loops=i):
        with w.block(f"if {condition(w)}:"):
            w.emit(f"{out}[{k}] = {x}[{i}]", f"{k} += 1")
    result(w, "whole", k)
    result(w, "array", out)


def reached(w: Writer) -> None:
    """Writes a search through a graph with a queue or a stack of its own."""
    ptr, col = w.array("pointers"), w.array("columns")
    work, dist, v, u = w.fresh("queue", "stack"), w.fresh("dist", "level"), w.fresh("v"), w.fresh("u")
    is_queue = w.chance(0.6)
    w.emit(f"{dist} = np.zeros(n, dtype=np.int64) - 1", f"{work} = np.{w.pick('zeros', 'empty')}(n + 1, dtype=np.int64)")
    with w.block("if n > 0:"):
        w.emit(f"{work}[0] = 0", f"{dist}[0] = 0")
    w.emit(*(["head = 0", "tail = min(n, 1)"] if is_queue else ["tail = min(n, 1)"]))
    with w.block("while head < tail:" if is_queue else "while tail > 0:", loops="head"):
        w.emit(*([f"{v} = {work}[head]", "head += 1"] if is_queue else ["tail -= 1", f"{v} = {work}[tail]"]))
        with w.block(f"for k in range({ptr}[{v}], {ptr}[{v} + 1]):"):
            w.emit(f"{u} = {col}[k]")
            with w.block(f"if {dist}[{u}] < 0:"):
                w.emit(f"{dist}[{u}] = {dist}[{v}] + 1", f"{work}[tail] = {u}", "tail += 1")
    result(w, "whole", "tail")
    result(w, "array", dist)


def sorted_rows(w: Writer) -> None:
    """Writes a sort by insertion, or by exchanges until nothing changes."""
    name = w.array(w.pick("reals", "wholes"))
    if w.chance(0.5):
        i, held, j = w.counter(), w.fresh("key", "item"), w.fresh("j", "hole")
        with w.block(f"for {i} in range(1, n):"):
            w.emit(f"{held} = {name}[{i}]", f"{j} = {i} - 1")
            with w.block(f"while {j} >= 0 and {name}[{j}] > {held}:"):
                w.emit(f"{name}[{j} + 1] = {name}[{j}]", f"{j} -= 1")
            w.emit(f"{name}[{j} + 1] = {held}")
        return
    i, again, rounds = w.counter(), w.fresh("changed", "again"), w.fresh("rounds", "passes")
    w.emit(f"{again} = True", f"{rounds} = 0")
    with w.block(f"while {again} and {rounds} < 20:"):
        w.emit(f"{again} = False", f"{rounds} += 1")
        with w.block(f"for {i} in range(n - 1):"):
            with w.block(f"if {name}[{i}] > {name}[{i} + 1]:"):
                w.emit(f"{name}[{i}], {name}[{i} + 1] = {name}[{i} + 1], {name}[{i}]", f"{again} = True")
    result(w, "whole", rounds)


def bisection(w: Writer) -> None:
    """Writes a search by halving, for each row."""
    i, x, lo, hi = w.counter(), w.array("reals"), w.fresh("lo", "left"), w.fresh("hi", "right")
    keys, out = w.array("reals", is_new=True), w.array("wholes")
    with w.block(f"for {i} in range(n):"):
        w.emit(f"{lo} = 0", f"{hi} = n")
        with w.block(f"while {lo} < {hi}:"):
            w.emit(f"mid = ({lo} + {hi}) {w.pick('// 2', '>> 1')}")
            w.emit(f"if {x}[mid] {w.pick('<', '<=')} {keys}[{i}]:", f"    {lo} = mid + 1", "else:", f"    {hi} = mid")
        w.emit(f"{out}[{i}] = {lo}")


def chain(w: Writer) -> None:
    """Writes a walk along links, at most n steps from each row."""
    i, at, hops, links = w.counter(), w.fresh("at", "node"), w.fresh("hops", "steps"), w.array("rows")
    out = w.array("wholes")
    with w.block(f"for {i} in range(n):"):
        w.emit(f"{at} = {i}", f"{hops} = 0")
        with w.block(f"while {links}[{at}] != {at} and {hops} < n:"):
            w.emit(f"{at} = {links}[{at}]", f"{hops} += 1")
            if w.chance(0.3):
                w.emit(f"{links}[{i}] = {at}")
        w.emit(f"{out}[{i}] {w.pick('=', '+=')} {w.pick(at, hops)}")


def merged(w: Writer) -> None:
    """Writes a merge of two arrays with two cursors."""
    x, y = w.array("reals", is_new=True), w.array("reals", is_new=True)
    i, j, out = w.fresh("p"), w.fresh("q"), w.fresh("out", "merged")
    w.emit(f"{out} = np.empty(2 * n)", f"{i} = 0", f"{j} = 0")
    with w.block(f"while {i} < n or {j} < n:"):
        with w.block(f"if {j} >= n or ({i} < n and {x}[{i}] {w.pick('<', '<=')} {y}[{j}]):"):
            w.emit(f"{out}[{i} + {j}] = {x}[{i}]", f"{i} += 1")
        with w.block("else:"):
            w.emit(f"{out}[{i} + {j}] = {y}[{j}]", f"{j} += 1")
    result(w, "array", out)


def iterated(w: Writer) -> None:
    """Writes an iteration for each row until it is close enough, or too long: an escape time, a root, Collatz's steps."""
    i, it = w.counter(), w.fresh("it", "steps")
    x, out = w.array("reals"), w.array("wholes")
    with w.block(f"for {i} in range(n):"):
        form = w.rng.randrange(3)
        if form == 0:
            v = w.fresh("c", "num")
            w.emit(f"{v} = abs({out}[{i}]) + 1", f"{it} = 0")
            with w.block(f"while {v} != 1 and {it} < 30:"):
                w.emit(f"{v} = {v} // 2 if {v} % 2 == 0 else 3 * {v} + 1", f"{it} += 1")
        elif form == 1:
            v = w.fresh("z", "u")
            w.emit(f"{v} = 0.0", f"{it} = 0")
            with w.block(f"while {v} < 4.0 and {it} < {w.rng.randint(3, 15)}:"):
                w.emit(f"{v} = {v} * {v} + {x}[{i}]", f"{it} += 1")
        else:
            v = w.fresh("r", "root")
            w.emit(f"{v} = 1.0", f"{it} = 0")
            with w.block("while True:"):
                w.emit(f"{it} += 1", f"nxt = 0.5 * ({v} + abs({x}[{i}]) / {v})")
                w.emit(f"if abs(nxt - {v}) < 1e-3 or {it} > 12:", "    break", f"{v} = nxt")
        w.emit(f"{out}[{i}] = {it}")


def own_way(w: Writer) -> None:
    """Writes rows that each go their own way through loops and branches: rows of which several may run together, in lanes."""
    i, out = w.counter(), w.array("reals", is_new=True)
    value, steps = w.fresh("v", "state"), w.fresh("it", "steps")
    with w.block(f"for {i} in range(n):", rows=i, loops=i):
        w.emit(f"{value} = np.float64({bare(real(w))})", f"{steps} = 0")
        if w.chance(0.3):
            w.emit(f"{out}[{i}] = {value}")
        w.know(reals=value, wholes=steps)
        head = w.pick(
            f"while {steps} < 9 and ({condition(w)}):", f"while {steps} < 9 and {value} < {real(w, 1)}:", "while True:",
            f"for k in range({w.rng.randint(0, 6)}):", f"for k in range({steps}, abs({bare(whole(w, 1))}) % 7):", "for k in range(6, 0, -2):",
        )  # fmt: skip
        with w.block(head, **({"wholes": "k"} if head.startswith("for") else {})):
            w.emit(f"{steps} += 1")
            if head == "while True:":
                w.emit(f"if {steps} > {w.rng.randint(0, 8)} or {condition(w, 0)}:", "    break")
            if w.chance(0.5):
                with w.block(f"if {condition(w)}:"):
                    w.emit(w.pick("continue", "break", f"{value} = np.float64({bare(real(w, 1))})"))
            if w.chance(0.3):
                with w.block("for q in range(3):"):
                    w.emit(f"if {condition(w, 0)}:", f"    {w.pick('break', 'continue')}", f"{value} += {bare(real(w, 1))}")
            with w.block(f"if {condition(w)}:"):
                w.emit(f"{value} {w.pick('-=', '+=', '*=')} {bare(real(w, 1))}")
            if w.chance(0.5):
                with w.block("else:"):
                    w.emit(f"{value} = np.float64({bare(real(w, 1))})")
        w.emit(f"{out}[{i}] {w.pick('=', '=', '+=')} {value}")
        if w.chance(0.4):
            w.emit(f"{w.array('wholes')}[{i}] = {w.pick(steps, bare(whole(w, 1)))}")


def early_return(w: Writer) -> None:
    """Writes a loop that returns what it finds; what the function gives behind it is of the same kinds."""
    if not w.result:
        w.result = w.rng.choice([("whole",), ("real",), ("whole", "real"), ("whole", "whole")])
    i = w.counter()
    texts = {"whole": i, "real": f"{w.array('reals')}[{i}]"}
    with w.block(f"for {i} in range(n):", rows=i, loops=i):
        with w.block(f"if {condition(w)}:"):
            w.emit("return " + ", ".join(texts.get(kind, kind) for kind in w.result))


def affine(w: Writer) -> None:
    """Writes a loop that is affine."""
    i, x, y = w.counter(), w.array("reals"), w.array("reals", is_new=True)
    if w.chance(0.3):
        A, _ = w.matrix()
        with w.block(f"for {i} in range({A}.shape[0]):"):
            with w.block(f"for j in range({A}.shape[1]):"):
                w.emit(f"{A}[{i}, j] = {A}[{i}, j] {w.pick('+ 1', '* 2', '+ j', f'- {i}')}")
        return
    with w.block(f"for {i} in range({w.pick('n', '1, n')}):"):
        w.emit(w.pick(f"{y}[{i}] = {x}[{i}] * 0.5 + 1.0", f"{y}[{i}] += {x}[{i}]", f"{x}[{i}] = {x}[{i} - 1] + {y}[{i}]"))


def divided(w: Writer) -> None:
    """Writes what may raise, in a loop that may be left: divisions by Python integers, numbers made integers, shifts, roots."""
    i, v = w.counter(), w.fresh("part", "w")
    x, a = w.array("reals"), w.array("wholes")
    w.emit(f"{v} = 0")
    with w.block(f"for {i} in range(n):", rows=i, loops=i):
        with w.block(f"if {condition(w, 0)}:"):
            w.emit(w.pick("break", "continue", "continue"))
        left, other = w.rng.randint(4, 20), f"({i} - {w.array('whole')})"
        w.emit(
            w.pick(
                f"{v} += {left} {w.pick('//', '%')} {other}",
                f"{v} += {left} {w.pick('//', '%')} {a}[{i}]",
                f"{a}[{i}] = {left} {w.pick('//', '%')} {other}",
                f"{x}[{i}] = {left} / {other}",
                f"{v} += int({x}[{i}])",
                f"{v} += 1 << ({w.array('whole')} - {i})",
                f"{a}[{i}] = 3000000000 * {i}",
                f"{x}[{i}] = math.sqrt({x}[{i}])",
            )
        )
    result(w, "whole", v)


def any_of(w: Writer) -> None:
    """Writes a flag that is set where a row has a property."""
    i, is_there = w.counter(), w.fresh("found", "ok", "done")
    w.emit(f"{is_there} = False")
    with w.block(f"for {i} in range(n):", rows=i, loops=i):
        with w.block(f"if {condition(w)}:"):
            w.emit(f"{is_there} = True", *([w.pick("break", "continue")] if w.chance(0.7) else []))
        w.emit(f"{w.array('reals')}[{i}] {w.pick('+=', '-=')} {bare(real(w, 1))}")
    with w.block(f"if {w.pick('', 'not ')}{is_there}:"):
        w.emit(*w.rng.choice([("n = n + 0",), (f"{is_there} = n > 3",)]))
    w.arrays.append(is_there)


def matrix_rows(w: Writer) -> None:
    """Writes a search in each row of a matrix, or a sum of chosen elements of it."""
    i, (A, is_real), j, out = w.counter(), w.matrix(), w.fresh("j", "col_at"), w.array("wholes")
    limit = w.array("real") if is_real else w.array("whole")
    with w.block(f"for {i} in range({A}.shape[0]):", rows=i, loops=i):
        form = w.rng.randrange(3)
        if form == 0:
            w.emit(f"{j} = 0")
            with w.block(f"while {j} < {A}.shape[1] and {A}[{i}, {j}] {w.pick('<', '<=', '!=')} {limit}:"):
                w.emit(*([f"{A}[{i}, {j}] += 1"] if w.chance(0.3) else []), f"{j} += 1")
            w.emit(f"{out}[{i}] = {j}")
        elif form == 1:
            with w.block(f"for {j} in range({A}.shape[1] - 1, -1, -1):"):
                with w.block(f"if {A}[{i}, {j}] > {limit}:"):
                    w.emit(f"{out}[{i}] = {j}", "break")
            with w.block("else:"):
                w.emit(f"{out}[{i}] = -1")
        else:
            size = w.array("counts")
            with w.block(f"if {size}[{i}] < {A}.shape[1]:"):
                w.emit(f"{A}[{i}, {size}[{i}]] {w.pick('+=', '=')} {A}[{w.array('rows')}[{i}], 0]")


def workspace(w: Writer) -> None:
    """Writes arrays of the function's own, which later statements use as others: `order`, whose elements are rows, and `work`."""
    i, form = w.counter(), w.rng.random()
    if form < 0.6 and "order" not in w.taken:
        w.taken.add("order")
        w.emit(f"order = np.{w.pick('empty', 'zeros')}(n, dtype=np.int64)")
        with w.block(f"for {i} in range(n):"):
            w.emit(f"order[{i}] = {w.pick(i, f'n - 1 - {i}', f'(3 * {i} + 1) % n', f'{i} // 2')}")
        w.parameters["order"] = Parameter("order", "rows", "int64", is_local=True)
    if form > 0.4 and "work" not in w.taken:
        w.taken.add("work")
        w.emit(f"work = np.zeros(n{w.pick('', '', ', dtype=np.float32')})")
        w.parameters["work"] = Parameter("work", "reals", "float64", is_local=True)
        w.arrays.append("work")


def groups(w: Writer) -> None:
    """Writes the different numbers of a vector with how often each is there, or sets of two vectors."""
    values, counts = w.fresh("labels", "kinds"), w.fresh("sizes", "often")
    x = w.array(w.pick("rows", "wholes"))
    form = w.rng.randrange(4)
    if form == 0:
        w.emit(f"{values}, {counts} = np.unique({x}, return_counts=True)")
    elif form == 1:
        w.emit(f"{values}, {counts} = np.unique({x}[{w.pick('1:', ':3', '::2')}], {w.pick('return_inverse', 'return_index')}=True)")
    else:
        other = w.array(w.pick("rows", "wholes"))
        w.emit(
            f"{values} = np.{w.pick('union1d', 'intersect1d', 'setdiff1d', 'setxor1d')}({x}, {other})",
            f"{counts} = np.isin({x}, {values})",
        )
    result(w, "array", values)
    result(w, "array", counts)


IDIOMS = (
    sparse_product, sparse_product, sparse_product, histogram, histogram, first_of, largest, compaction, reached, sorted_rows,
    bisection, chain, merged, iterated, own_way, own_way, own_way, early_return, early_return, affine, divided, any_of, matrix_rows, matrix_rows, workspace, groups,
    *LISTS, *SWEEPS,
)  # fmt: skip
