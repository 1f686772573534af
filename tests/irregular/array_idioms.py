"""What people write with lists, tuples, functions inside, arrays whose size data decide, sorts, sparse matrices and recursion."""

from __future__ import annotations

from tests.irregular.expressions import bare, condition, real, whole
from tests.irregular.idioms import result
from tests.irregular.writer import Writer


def listed(w: Writer) -> None:
    """Writes a list of a fixed length, changed in a loop and summed, or read at the end."""
    i, held, count = w.counter(), w.fresh("held", "slots", "parts"), w.rng.randint(1, 5)
    is_real = w.chance(0.6)
    zero = "0.0" if is_real else "0"
    x = w.array("reals" if is_real else "wholes")
    made = w.pick(f"[{zero}] * {count}", f"[{zero} for k in range({count})]", f"[{', '.join([zero] * count)}]", f"[{zero}] * n")
    length = "n" if made.endswith("n") else str(count)
    w.emit(f"{held} = {made}")
    convert = "float" if is_real else "int"
    with w.block(f"for {i} in range(n):", rows=i, loops=i):
        if w.chance(0.3):
            with w.block(f"if {condition(w)}:"):
                w.emit(w.pick("continue", "break"))
        place = w.pick(f"{i} % {length}", f"{w.array('rows')}[{i}] % {length}", f"-1 - {i} % {length}")
        value = bare(real(w, 1) if is_real else whole(w, 1))
        w.emit(w.pick(f"{held}[{place}] += {convert}({x}[{i}])", f"{held}[{place}] = {convert}({value})"))
    form = w.rng.randrange(4)
    if form == 0:
        w.arrays.append(f"np.array({held})" if length != "n" else held)
    elif form == 1:
        total = w.fresh("all_of", "most")
        w.emit(
            f"{total} = {zero}", f"for {i} in range(len({held})):", f"    {total} = {w.pick('max', 'min')}({total}, {held}[{i}])"
        )
        result(w, "real" if is_real else "whole", total)
    elif form == 2:
        total = w.fresh("all_of", "sum_of")
        w.emit(f"{total} = {zero}", f"for v in {held}:", f"    {total} += v")
        result(w, "real" if is_real else "whole", total)
    else:
        w.arrays.append(held)


def written_array(w: Writer) -> None:
    """Writes an array that is written out, of numbers and elements, which is read at places that data decide."""
    i, table, out = w.counter(), w.fresh("table", "weights"), w.array("reals", is_new=True)
    parts = [w.pick("0.5", "1.0", "-2.0", w.array("real"), "2.0") for _ in range(w.rng.randint(1, 4))]
    w.emit(f"{table} = np.{w.pick('array', 'asarray')}([{', '.join(parts)}])")
    if w.chance(0.4):
        w.emit(f"{table}[{w.pick('0', '-1')}] {w.pick('=', '+=', '*=')} {w.array('real')}")
    with w.block(f"for {i} in range(n):", rows=i, loops=i):
        place = w.pick(f"{i} % {len(parts)}", f"{w.array('wholes')}[{i}] % {len(parts)}", f"abs({whole(w, 1)}) % {len(parts)}")
        w.emit(f"{out}[{i}] {w.pick('=', '+=', '*=')} {table}[{place}]")
    result(w, "array", table)


def function_inside(w: Writer) -> None:
    """Writes a function inside of the kernel, or a lambda, and calls it for rows."""
    i, name, out = w.counter(), w.fresh("f", "g", "step"), w.array("reals", is_new=True)
    limit, extra = w.array("real"), w.pick("0.5", "2.0", w.array("real"))
    body = w.pick(f"v * {extra}", f"v - {limit} if v > {limit} else -v", f"max(v, {limit})", f"abs(v) + {extra}", "v * v - 1.0")
    if w.chance(0.3):
        w.emit(f"{name} = lambda v: {body}")
    elif w.chance(0.5):
        w.emit(f"def {name}(v, scale={w.pick('1.0', '0.5')}):", f"    return ({body}) * scale")
    else:
        w.emit(f"def {name}(v):", f"    if v > {limit}:", "        return v", f"    u = {body}", "    return u")
    has_scale = any("scale" in line for line in w.lines[-2:])
    with w.block(f"for {i} in range(n):", rows=i, loops=i):
        called = f"{name}({bare(real(w, 1))}{w.pick('', ', 2.0', ', scale=0.25') if has_scale else ''})"
        if w.chance(0.4):
            with w.block(f"if {condition(w)}:"):
                w.emit(f"{out}[{i}] = {called}")
        else:
            w.emit(f"{out}[{i}] {w.pick('=', '+=')} {called}")


def tuples(w: Writer) -> None:
    """Writes tuples: loops over constants, pairs that are exchanged, shapes, and pairs that are returned."""
    i, pair, x = w.counter(), w.fresh("pair", "both"), w.array("reals")
    form = w.rng.randrange(4)
    if form == 0:
        total = w.fresh("acc", "turned")
        w.emit(f"{total} = 0.0")
        with w.block(f"for {i} in range(n):", rows=i, loops=i):
            with w.block(f"for d in {w.pick('(-1, 1)', '(0, 1, 2)', '(3,)')}:"):
                w.emit(f"{total} += {x}[({i} + d) % n] * {w.pick('d', '0.5')}")
        result(w, "real", total)
    elif form == 1:
        a, b = w.fresh("one"), w.fresh("other")
        w.emit(f"{pair} = ({w.pick('0', '1')}, {w.pick('1', 'n')})", f"{a}, {b} = {pair}")
        with w.block(f"for {i} in range(n):", rows=i, loops=i):
            w.emit(f"if {condition(w)}:", f"    {a}, {b} = {b}, {a}")
        w.emit(f"{pair} = ({a}, {b})")
        w.arrays.append(w.pick(pair, f"{pair}[0]", f"({pair}, {x})", f"{pair}[::-1]"))
    elif form == 2:
        (A, _), rows, columns = w.matrix(), w.fresh("h"), w.fresh("c")
        w.emit(f"{rows}, {columns} = {A}.shape")
        w.know(wholes=rows)
        w.know(wholes=columns)
        w.arrays.append(f"{A}.shape")
    else:
        low, high = w.fresh("low"), w.fresh("high")
        w.emit(f"{low}, {high} = 0.0, {w.array('real')}")
        with w.block(f"for {i} in range(n):", rows=i, loops=i):
            w.emit(f"{low}, {high} = min({low}, {x}[{i}]), max({high}, {x}[{i}])")
        w.arrays.append(f"({low}, {high})")


def selected(w: Writer) -> None:
    """Writes arrays of which data decide the size: masks, places, counts and repetitions."""
    i, chosen, x = w.counter(), w.fresh("chosen", "some"), w.array("reals")
    mask = w.pick(f"{x} > {w.array('real')}", w.array("flags"), f"{w.array('wholes')} % 2 == 0", f"~{w.array('flags')}")
    form = w.rng.randrange(6)
    if form == 0:
        w.emit(f"{chosen} = {x}[{mask}]")
    elif form == 1:
        w.emit(f"{chosen} = {w.pick(f'np.nonzero({mask})[0]', f'np.flatnonzero({mask})', f'np.where({mask})[0]')}")
    elif form == 2:
        size = w.pick("", ", minlength=5")
        weights = w.pick("", "", f", weights={x}")
        w.emit(f"{chosen} = np.bincount(abs({w.array('wholes')}) % 7{weights}{size})")
    elif form == 3:
        w.emit(f"{chosen} = np.repeat({x}, {w.pick('2', w.array('counts'))})")
    elif form == 4:
        w.emit(f"{chosen} = np.zeros({w.array('counts')}.sum())")
    else:
        w.emit(f"{chosen} = {x}[{mask}]", f"{x}[{mask}] = {w.pick('0.0', f'{chosen} * 0.5', f'{x}[{mask}] + 1.0')}")
    total = w.fresh("kept", "sum_of")
    if w.chance(0.6):
        w.emit(f"{total} = 0.0")
        with w.block(f"for {i} in range(len({chosen})):"):
            if w.chance(0.4):
                w.emit(f"if {chosen}[{i}] {w.pick('>', '<=', '==')} {w.pick('0', '1')}:", f"    {w.pick('continue', 'break')}")
            w.emit(f"{total} {w.pick('+=', '-=')} {chosen}[{i}]")
        result(w, "real", total)
    elif w.chance(0.5):
        w.emit(f"{total} = {w.pick(f'len({chosen})', f'{chosen}.shape[0]', f'np.count_nonzero({chosen})', f'{chosen}.size')}")
        result(w, "real", total)
    result(w, "array", chosen)


def ordered(w: Writer) -> None:
    """Writes sorts, orders and searches in what is sorted."""
    i, made, x = w.counter(), w.fresh("ranked", "order_of"), w.array("reals")
    form = w.rng.randrange(4)
    if form == 0:
        options = w.pick("", ", axis=0", ", kind='stable'")
        w.emit(f"{made} = np.sort(abs({x}){options})")
    elif form == 1:
        w.emit(f"{made} = np.argsort({w.pick(x, w.array('wholes'))}, kind='stable')")
        if w.chance(0.6):
            with w.block(f"for {i} in range(n):", rows=f"{made}[{i}]", loops=i):
                w.emit(f"{w.array('reals')}[{made}[{i}]] {w.pick('=', '+=')} {bare(real(w, 1))}")
    elif form == 2:
        keys, side = w.array("reals", is_new=True), w.pick("", ", side='right'")
        w.emit(f"{made} = np.searchsorted(np.sort({w.array('wholes')}), {keys}{side})")
    else:
        A, _ = w.matrix()
        sort, quantile = f"sort(abs({A})", f"percentile({A}, 2.5"
        w.emit(f"{made} = np.{w.pick(f'{sort}, axis=1', f'{quantile}, axis=-1', f'{sort}, axis=0')})")
    result(w, "array", made)


def reduced(w: Writer) -> None:
    """Writes array expressions with constant keywords beside loops that data decide."""
    (A, _), made = w.matrix(), w.fresh("sums", "rows_of")
    form = w.pick(
        f"{A}.sum(axis={w.pick('0', '1')})", f"np.max(abs({A}), axis=1, initial=0)", f"np.sum({A}, axis=1, keepdims=True)",
        f"np.cumsum({A}, axis={w.pick('0', '1')})", f"np.zeros_like({A}, dtype=np.float64)", f"np.full(n, fill_value={w.array('real')})",
        f"np.where({A} > 0, {A}, 0)", f"{A}.T.copy()",
    )  # fmt: skip
    w.emit(f"{made} = {form}")
    result(w, "array", made)


def viewed(w: Writer) -> None:
    """Writes a view of an argument, which a loop may change and which may be returned."""
    i, made, x = w.counter(), w.fresh("part", "rest"), w.array("reals")
    if w.chance(0.3):
        A, _ = w.matrix()
        w.emit(f"{made} = {w.pick(f'{A}.T', f'{A}[::-1]', f'{A}[:, ::2]', f'{A}[1:].T')}")
    else:
        w.emit(f"{made} = {x}{w.pick('[1:]', '[::2]', '[::-1]', '[-3:]', '[:2]', '[n // 2:]')}")
        if w.chance(0.5):
            with w.block(f"for {i} in range({made}.shape[0]):"):
                w.emit(f"if {made}[{i}] {w.pick('>', '<')} {w.array('real')}:", f"    {made}[{i}] {w.pick('=', '+=', '*=')} 0.5")
    result(w, "array", w.pick(made, f"{made}[::-1]", f"({x}, {made})"))


def sparse_matrix(w: Writer) -> None:
    """Writes products with a sparse matrix that is an argument, and loops over its arrays."""
    S, x, made = w.array("sparse"), w.array("reals"), w.fresh("product", "image")
    form = w.rng.randrange(3)
    if form == 0:
        w.emit(f"{made} = {S} @ {x}")
        result(w, "array", made)
    elif form == 1:
        w.emit(f"{made} = {x} @ {S}" if w.chance(0.4) else f"{made} = {S}.T @ {x}")
        result(w, "array", made)
    else:
        i, k, y = w.counter(), "k2", w.array("reals", is_new=True)
        with w.block(f"for {i} in range({S}.shape[0]):", rows=i, loops=i):
            with w.block(f"for {k} in range({S}.indptr[{i}], {S}.indptr[{i} + 1]):"):
                if w.chance(0.3):
                    w.emit(f"if {S}.data[{k}] < {w.array('real')}:", f"    {w.pick('continue', 'break')}")
                w.emit(f"{y}[{i}] {w.pick('+=', '-=')} {S}.data[{k}] * {x}[{S}.indices[{k}]]")


def recursive(w: Writer) -> None:
    """Writes a function that calls itself, and calls it for rows or for all of an array."""
    i, name = w.counter(), w.fresh("f", "walk", "part")
    form = w.rng.randrange(5)
    if form == 0:
        out, most = w.array("wholes"), w.rng.randint(3, 9)
        step = w.pick(
            f"{name}(k - 1) + {name}(k - 2)", f"2 * {name}(k - 1) + 1", f"k - {name}({name}(k - 1))", f"max(k, {name}(k // 2))"
        )
        w.emit(f"def {name}(k):", f"    if k < {w.rng.randint(1, 2)}:", "        return k", f"    return {step}")
        with w.block(f"for {i} in range(n):"):
            w.emit(f"{out}[{i}] {w.pick('=', '+=')} {name}({w.pick(f'{i} % {most}', f'abs(int({out}[{i}])) % {most}')})")
    elif form == 1:
        out = w.array("wholes")
        w.emit(f"def {name}(p, q):", f"    return p if q == 0 else {name}(q, p % q)")
        with w.block(f"for {i} in range(n):", rows=i, loops=i):
            w.emit(f"{out}[{i}] = {name}(abs(int({out}[{i}])), {w.rng.randint(0, 12)})")
    elif form == 2:
        x = w.array("reals")
        w.emit(
            f"def {name}(x, lo, hi):",
            "    if lo >= hi:",
            "        return",
            "    p = x[(lo + hi) // 2]",
            "    u, v = lo, hi",
            "    while u <= v:",
        )
        w.emit(
            "        while x[u] < p:", "            u += 1", "        while x[v] > p:", "            v -= 1", "        if u <= v:"
        )
        w.emit(
            "            x[u], x[v] = x[v], x[u]",
            "            u += 1",
            "            v -= 1",
            f"    {name}(x, lo, v)",
            f"    {name}(x, u, hi)",
        )
        w.emit(f"{name}({x}, 0, n - 1)")
    elif form == 3:
        links, deep = w.array("rows"), w.fresh("deep", "far")
        w.emit(f"def {name}(v, left):", "    if left == 0:", "        return 0")
        if w.chance(0.5):
            w.emit(f"    if {links}[v] == v:", f"        return {w.pick('0', '-1')}")
        w.emit(f"    return {w.pick(f'1 + {name}({links}[v], left - 1)', f'{name}({links}[v], left - 1) + left')}")
        w.emit(f"{deep} = 0")
        with w.block(f"for {i} in range(n):"):
            w.emit(f"{deep} {w.pick('+=', '^=')} {name}({i}, {w.rng.randint(0, 6)})")
        result(w, "whole", deep)
    else:
        x, total = w.array("reals"), w.fresh("all_of", "tree")
        w.emit(f"def {name}(lo, hi):", "    if hi - lo < 2:", f"        return {x}[lo]", "    m = (lo + hi) // 2")
        w.emit(
            f"    left = {name}(lo, m)",
            f"    right = {name}(m, hi)",
            f"    return {w.pick('left + right', 'max(left, right)', 'left - right * 0.5')}",
        )
        w.emit(f"{total} = 0.0", "if n > 0:", f"    {total} = {name}(0, n)")
        result(w, "real", total)


def gridded(w: Writer) -> None:
    """Writes grids, ranges of floats, and rows that are unpacked."""
    i, made = w.counter(), w.fresh("grid", "points")
    form = w.rng.randrange(4)
    if form == 0:
        rows, columns = w.fresh("I", "Y"), w.fresh("J", "X")
        grid = w.pick(f"np.mgrid[0:n, 0:{w.rng.randint(1, 3)}]", "np.indices((n, 2))", "np.ogrid[0:n, -1:1:3j]")
        w.emit(f"{rows}, {columns} = {grid}", f"{made} = {rows} * 2 {w.pick('+', '-', '*')} {columns}")
    elif form == 1:
        w.emit(f"{made} = np.arange({w.pick('0.5', '0', '-1.0')}, n, {w.pick('0.5', '0.75', '2')})")
    elif form == 2:
        w.emit(f"{made} = np.arange({w.array('counts')}.sum()) {w.pick('* 2', '+ 0.5', '')}")
    else:
        (A, _), x, y = w.matrix(), w.fresh("first"), w.fresh("second")
        with w.block(f"for {i} in range(n):", rows=i, loops=i):
            w.emit(f"{x}, {y} = {A}[{i}, :2]")
            if w.chance(0.4):
                w.emit(f"{x} = round(float({x}), {w.rng.randint(-2, 4)})")
            w.emit(f"{w.array('reals', is_new=True)}[{i}] {w.pick('=', '+=')} {x} {w.pick('*', '-')} {y}")
        return
    result(w, "array", made)


def averaged(w: Writer) -> None:
    """Writes averages with weights, choices among arrays, powers, covariances and histograms."""
    i, made, x, y = w.counter(), w.fresh("mean", "table"), w.array("reals"), w.array("reals")
    form = w.rng.randrange(6)
    if form > 3:
        bins = w.pick(str(w.rng.randint(1, 9)), f"np.sort({y}, kind='stable')", "np.arange(-3, 4)", "np.linspace(-2, 2, 6)")
        w.emit(f"{made} = np.histogram({w.pick(x, x, w.array('wholes'))}, {bins})[0]")
    elif form == 0:
        with w.block(f"for {i} in range(n):", rows=i, loops=i):
            A, _ = w.matrix()
            w.emit(f"{w.array('reals', is_new=True)}[{i}] = np.average({A}[{i}], weights=abs({A}[{i}]) + 1.0)")
        return
    elif form == 1:
        second = w.pick(f"{y} * 0.5", "2.5", w.array("real"))
        w.emit(f"{made} = np.select([{x} > {w.array('real')}, {y} < 0], [{x}, {second}]{w.pick('', ', default=-1.0')})")
    elif form == 2:
        w.emit(f"{made} = np.vander({x}, {w.rng.randint(0, 4)}{w.pick('', ', increasing=True')})")
    else:
        w.emit(f"{made} = np.{w.pick('cov', 'corrcoef')}({x}, {y} * {x})")
    result(w, "array", made)


ARRAY_IDIOMS = (
    listed, listed, written_array, function_inside, function_inside, tuples, tuples, selected, selected, selected, ordered, ordered, reduced,
    sparse_matrix, gridded, gridded, averaged, viewed, viewed, recursive, recursive, recursive,
)  # fmt: skip
