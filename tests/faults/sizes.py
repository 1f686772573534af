"""Sizes, steps and numbers around 2**31, 2**32, 2**62 and 2**63, in random programs of a few iterations each: the same as Python, or
refused.

Children run them in batches: plain first, compiled then. Local arrays and arguments lie between pages that nobody may touch, what is
around them has to stay as it was, and malloc checks itself.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from tests.faults import children
from tests.faults.campaign import Fault, Tally

BATCH = 50
BATCH_SECONDS = 600
_MALLOC = {"MALLOC_CHECK_": "3", "LD_PRELOAD": "libc_malloc_debug.so.0"}


def sizes(count: int, seed: int, folder: Path) -> Tally:
    tally = Tally()
    variables = children.environment(folder / "cache", POLYML_CACHE="0", **(_MALLOC if sys.platform == "linux" else {}))
    for first in range(0, count, BATCH):
        batch = folder / f"programs{first}.py"
        numbers = range(first, min(first + BATCH, count))
        texts = [program(random.Random(f"{seed} {number}"), f"program{number}") for number in numbers]
        batch.write_text("import numpy as np\n\n" + "\n".join(text for text, _ in texts))
        arguments = [f"{number}={given}" for number, (_, given) in zip(numbers, texts)]
        while arguments:
            command = ["-m", "tests.faults.sizes_child", str(batch)]
            end = children.run([*command, *arguments], variables, seconds=BATCH_SECONDS)
            said = [line.split(" ", 2) for line in end.out.splitlines() if line.startswith("program ")]
            for _, number, how in said[: len(arguments)]:
                if how.startswith("WRONG"):
                    tally.fail(f"{seed} {number}: {how} {texts[int(number) - first]}")
                else:
                    tally.add(how)
            if len(said) < len(arguments):
                number = first + len(texts) - len(arguments) + len(said)
                how = end.problem or f"ended with {end.status}: {end.error[-300:]}"
                tally.fail(f"{seed} {number}: {how} {texts[number - first]}")
            arguments = arguments[len(said) + 1 :]
    return tally


FAULTS = (Fault("sizes, steps and numbers near 2**31 to 2**63", 5_000, 60, sizes),)


# Programs

_GREAT = tuple(2**power for power in (31, 32, 40, 41, 59, 60, 61, 62, 63))


def program(rng: random.Random, name: str) -> tuple[str, str]:
    """(the text of a function, the text of a tuple of its arguments)"""
    made = rng.choice((_loop, _loop, _nest, _nest, _local, _wrapping, _whole, _values, _shapes, _gather, _floats))
    return made(rng, name)


def _number(rng: random.Random) -> int:
    if rng.random() < 0.4:
        return rng.randint(-3, 9)
    value = rng.choice(_GREAT) + rng.randint(-3, 3)
    return max(-(2**63), min(-value if rng.random() < 0.3 else value, 2**63 - 1))


def _size(rng: random.Random) -> int:
    if rng.random() < 0.6:
        return rng.choice((0, 1, 2, 3, 5, 17))
    return min(rng.choice(_GREAT) + rng.randint(-3, 3), 2**63 - 1) // rng.choice((1, 1, 1, 2, 3, 8))


def _short_range(rng: random.Random, name: str = "") -> str:
    """A range of few numbers, with a great start, step or both. name: of a number of the call that it begins or ends with."""
    step = rng.choice((1, 1, 2, 7, 1_000_000, abs(_number(rng)) or 1, rng.choice(_GREAT[:-1]) - rng.randint(0, 2), 2**63 - 1))
    start = _number(rng) if step < 2**30 or rng.random() < 0.2 else rng.choice((0, 0, 1, -5, -(2**62), 1 - 2**63))
    count = min(rng.randint(0, 6), (2**63 - 1 - abs(start)) // min(step, 2**63 - 1) + (start < 0))
    step = min(step, 2**63 - 1)
    if rng.random() < 0.3:
        start, step = max(-start, 1 - 2**63), -step
    if name and rng.random() < 0.7:
        shift = rng.choice((0, 1, -1, rng.randint(-5, 5)))
        first = f"{name} + {shift}" if shift else name
        more = step * count
        return f"range({first}, {first} + {more}, {step})" if abs(more) < 2**63 else f"range({first}, {first} + 3)"
    stop = max(-(2**63), min(start + step * count - rng.choice((0, 0, 1, -1)) * (abs(step) > 1), 2**63 - 1))
    return f"range({start}, {stop}, {step})"


def _affine(rng: random.Random, *names: str) -> str:
    text = rng.choice(names)
    for _ in range(rng.randint(0, 2)):
        form = rng.choice(("({} + {})", "({} - {})", "{} * {}", "({}) // {}", "({}) % {}"))
        number = _number(rng)
        text = form.format(text, abs(number) or 3 if "/" in form or "%" in form else number)
    return text if rng.random() < 0.8 else f"({text} + {rng.choice(names)})"


def _subscript(rng: random.Random, *names: str) -> str:
    return f"({_affine(rng, *names)}) % {rng.choice((2, 3, 5))}"


def _loop(rng: random.Random, name: str) -> tuple[str, str]:
    condition = (
        f"if {_affine(rng, 'i', 'n')} {rng.choice(('<', '>=', '==', '!='))} {_number(rng)}:" if rng.random() < 0.4 else "if i == i:"
    )
    text = f"""
def {name}(A, n):
    for i in {_short_range(rng, "n")}:
        {condition}
            A[{_subscript(rng, "i", "n")}] {rng.choice(("=", "+="))} {rng.choice(("1", "i % 7", "i", _affine(rng, "i", "n")))}
"""
    return text, f"({_array(rng)}, {_number(rng)})"


def _nest(rng: random.Random, name: str) -> tuple[str, str]:
    inner = _short_range(rng, rng.choice(("i", "i", "n", "")))
    text = f"""
def {name}(A, n, m):
    for i in {_short_range(rng, "n")}:
        for j in {inner}:
            A[{_subscript(rng, "i", "j")}] += {rng.choice(("1", "j % 5", "i - j", "m"))}
"""
    return text, f"({_array(rng)}, {_number(rng)}, {_number(rng)})"


def _local(rng: random.Random, name: str) -> tuple[str, str]:
    ranks = rng.choice((1, 2, 2, 2, 3))
    extents = [
        rng.choice(("n", "m", "n + 1", "2 * n", "n - m", "m // 2", "4", "0", str(_size(rng)), "A.shape[0]", "min(n, 4)"))
        for _ in range(ranks)
    ]
    make = rng.choice(("np.zeros", "np.empty", "np.zeros", "np.ones"))
    kind = rng.choice(("", "", ", dtype=np.int8", ", dtype=np.float32", ", dtype=np.complex128"))
    here = ", ".join(rng.choice(("0", "i", "-1", "i % 2")) for _ in range(ranks))
    there = ", ".join(rng.choice(("0", "i", "i")) for _ in range(ranks))
    last = (
        "return A[0]"
        if kind.endswith("complex128")
        else rng.choice(("return A[0]", "return B" if make != "np.empty" else "return A[1]"))
    )
    text = f"""
def {name}(A, n, m):
    B = {make}(({", ".join(extents)},){kind})
    for t in range(2):
        for i in range({rng.choice(("2", "3", "min(n, 3)", "min(B.shape[0], 3)"))}):
            B[{here}] = i + t
        for i in range({rng.choice(("0", "1", "2"))}):
            A[i] += B[{here}]{".real" if kind.endswith("complex128") else ""}
    {last}
"""
    if make == "np.empty":  # nothing is read that was not written
        text = (
            text.replace(f"B[{here}]", f"B[{there}]")
            .replace("range(min(n, 3))", "range(3)")
            .replace("range(min(B.shape[0], 3))", "range(3)")
        )
    return text, f"({_array(rng)}, {_size(rng)}, {rng.choice((_size(rng), -1, 3))})"


def _wrapping(rng: random.Random, name: str) -> tuple[str, str]:
    """Products of sizes that are little modulo 2**64, and elements far behind that."""
    power = rng.randint(0, 9)
    long, short = 2 ** (61 - power) + rng.randint(-1, 3), 2**power
    pair = rng.choice(
        ((long, short), (short, long), (2**31, 2**31), (2**32, 2**31), (2**33, 2**33), (2**32 + 1, 2**32 - 1), (300, 40))
    )
    text = f"""
def {name}(A, n, m):
    B = {rng.choice(("np.empty", "np.zeros", "np.empty"))}((n, m))
    for t in range(2):
        for i in range(min(n, 400)):
            for j in range(min(m, 40)):
                B[i, j] = i + j + t
        for i in range(1, min(n, 400)):
            for j in range(min(m, 40)):
                A[i % 5] += B[i - 1, j] * t
"""
    return text, f"({_array(rng)}, {pair[0]}, {pair[1]})"


def _whole(rng: random.Random, name: str) -> tuple[str, str]:
    low, high, step = (rng.choice(("", str(_number(rng)), "n")) for _ in range(3))
    step = str(_number(rng) or 2) if step not in ("",) else ""
    text = f"""
def {name}(A, n):
    B = np.zeros({rng.choice(("n", "(n, 2)", "(3, n)", "7"))})
    B[{low}:{high}] = 2.0
    A[{low}:{high}:{step}] {rng.choice(("=", "+="))} {rng.choice(("3.0", "n"))}
    return B.sum()
"""
    return text, f"({_array(rng)}, {_size(rng)})"


def _values(rng: random.Random, name: str) -> tuple[str, str]:
    text = f"""
def {name}(A, n, m):
    s = {rng.choice(("0", "1", "n"))}
    for i in range(4):
        s = {rng.choice(("s + n", "s * 3 + m", "s - i * n", "s + (i * m) // 3", "max(s, i * m)"))}
        A[i] = {rng.choice(("s", "s % 1000", "i * n + m", "(n - m) // 2", "abs(n) % 9", "-n", "n // (m * m + 1)"))}
    return {rng.choice(("s", "n - m", "A[0]", "s > n"))}
"""
    return text, f"({_array(rng)}, {_number(rng)}, {_number(rng)})"


def _shapes(rng: random.Random, name: str) -> tuple[str, str]:
    size = _size(rng)
    array = rng.choice((f"np.empty(({size}, 0))", f"np.empty((0, {size}), 'i1')", f"np.broadcast_to(np.float64(3), ({size},))",
                        f"np.broadcast_to(np.int8(3), (2, {size}))"))  # fmt: skip
    if "float64" in array and size > 2**59 or size >= 2**60:
        array = "np.empty((3, 0))"
    extent = rng.choice(("E.shape[0]", "E.shape[0]", f"E.shape[{int('(2,' in array or ' 0)' in array or '(0,' in array)}]"))
    read = "E[i]" if "float64" in array else "1"
    text = f"""
def {name}(A, E):
    for i in range({extent} - 3, {extent}):
        A[{_subscript(rng, "i")}] += {read}
    for i in range(3):
        A[{_subscript(rng, "i", extent)}] += {rng.choice((extent, "i"))} % 11
"""
    return text, f"({_array(rng)}, {array})"


def _gather(rng: random.Random, name: str) -> tuple[str, str]:
    kind = rng.choice(("uint64", "int64", "int64", "int32", "uint32"))
    low, high = {
        "uint64": (0, 2**64 - 1),
        "int64": (-(2**63), 2**63 - 1),
        "int32": (-(2**31), 2**31 - 1),
        "uint32": (0, 2**32 - 1),
    }[kind]
    values = [rng.choice((0, 1, 2, 3, -1, -2)) for _ in range(4)]
    if rng.random() < 0.6:
        values[rng.randrange(4)] = rng.choice((low, high, high - 1, low + 1, 2**63, 2**32, 4, -5))
    values = [max(low, min(value, high)) for value in values]
    text = f"""
def {name}(A, x, c):
    for i in range(c.shape[0]):
        A[i] += x[c[i]]
"""
    return text, f"({_array(rng)}, np.arange(4.0), np.array({values}, '{kind}'))"


def _floats(rng: random.Random, name: str) -> tuple[str, str]:
    values = [rng.choice((0.0, 1.5, -2.0, float("nan"), float("inf"), -1e10, 1e19, 2.0**63, -(2.0**63), 300.0)) for _ in range(2)]
    text = f"""
def {name}(A, X):
    for i in range(X.shape[0]):
        A[i] = {rng.choice(("X[i]", "X[i] * 2", "int(X[i])"))}
"""
    kind = rng.choice(("int8", "int16", "int32", "int64"))
    numbers = ", ".join(f"float('{value}')" for value in values)
    return text, f"(np.zeros(5, '{kind}'), np.array([{numbers}]))"


def _array(rng: random.Random) -> str:
    return f"np.arange(5).astype('{rng.choice(('float64', 'float64', 'int64', 'int32'))}')"
