"""Random affine nests as Python functions."""

import importlib.util
from random import Random

EXTENT = 48


def random_nest(seed, folder):
    """(function, its arguments: shapes of arrays by name, and numbers). Subscripts are inside the arrays."""
    rng = Random(seed)
    arrays = {name: rng.randint(1, 2) for name in "AB"[: rng.randint(1, 2)]}
    lines = [f"def nest{seed}({', '.join(arrays)}, N: int, M: int):"]
    for _ in range(rng.randint(1, 2)):
        lines += _loops(rng, arrays, [], 1, rng.randint(1, 3))
    path = folder / f"nest{seed}.py"
    path.write_text("\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location(f"nest{seed}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    arguments = {name: (EXTENT,) * dims for name, dims in arrays.items()}
    return getattr(module, f"nest{seed}"), arguments | {"N": rng.randint(3, 6), "M": rng.randint(2, 5)}


def _loops(rng, arrays, around, depth, deepest):
    pad = "    " * depth
    name = "ijk"[len(around)]
    low = rng.choice(["0", "0", "1", *around])
    high = rng.choice(["N", "M", "N", "N + 1", *(f"{outer} + 2" for outer in around)])
    found = [f"{pad}for {name} in range({low}, {high}):"]
    around = [*around, name]
    if len(around) < deepest:
        if rng.random() < 0.3:
            found.append(_statement(rng, arrays, around, depth + 1))
        return found + _loops(rng, arrays, around, depth + 1, deepest)
    return found + [_statement(rng, arrays, around, depth + 1) for _ in range(rng.randint(1, 2))]


def _statement(rng, arrays, around, depth):
    written = _element(rng, arrays, around)
    reads = [_element(rng, arrays, around) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.5:
        reads[0] = written
    return f"{'    ' * depth}{written} = {' + '.join(reads)} + 0.5"


def _element(rng, arrays, around):
    name = rng.choice(list(arrays))
    return f"{name}[{', '.join(_subscript(rng, around) for _ in range(arrays[name]))}]"


def _subscript(rng, around):
    one = rng.choice(around)
    return rng.choice([one, one, f"{one} + 1", f"2*{one}", f"{one} + {rng.choice(around)}", f"{one} + N", "1"])
