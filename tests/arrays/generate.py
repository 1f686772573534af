"""Random functions of arrays: text and arguments, the same for the same seed."""

from __future__ import annotations

import random
from dataclasses import dataclass

import ml_dtypes  # noqa: F401  NumPy then knows bfloat16
import numpy as np

Dim = tuple[str, int]  # ("N", -1) is max(0, N - 1); ("", 1) is 1
Shape = tuple[Dim, ...]

_SIZES = (0, 1, 2, 3, 4, 5, 7, 9)
_FLOATS, _INTEGERS = ("f8", "f8", "f8", "f8", "f8", "f4", "f4", "f2", "bfloat16"), ("i8", "i8", "i4", "i2", "u1", "i1")
_COMPLEX = ("c16", "c16", "c16", "c8")
_ORDER = "bifc"
_INDICES = ("i8", "i8", "i4", "u2")
_ONE: Dim = ("", 1)


@dataclass(frozen=True)
class ArrayProgram:
    """source defines `f`. meaning: the same, with each right side copied before it is stored: NumPy promises that, but
    1-D copies of one stride over another do not keep it. shapes: per argument; sizes: what N, M, K are in each run.
    """

    seed: int
    source: str
    meaning: str
    shapes: dict[str, Shape]
    dtypes: dict[str, str]
    sizes: tuple[dict[str, int], ...]

    def arguments(self, run: int) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(self.seed * 7 + run)
        made = {}
        for name, shape in self.shapes.items():
            dtype = np.dtype(self.dtypes[name])
            low = 0 if dtype.kind in "ub" else -5
            low, high = (low, 2 if dtype.kind == "b" else 6) if name != "J" else (max(low, -2), 3)
            values = rng.integers(low, high, tuple(_size(d, self.sizes[run]) for d in shape))
            if dtype.kind == "c":
                values = values + 1j * rng.integers(-5, 6, values.shape)
            made[name] = _laid_out(values.astype(dtype), rng)
        return made


def _size(dim: Dim, sizes: dict[str, int]) -> int:
    return max(0, sizes.get(dim[0], 0) + dim[1])


def _laid_out(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The array with the strides of C, of Fortran, or of every other element of a larger one."""
    choice = rng.integers(5)
    if choice == 0:
        return np.asfortranarray(array)
    if choice == 1 and array.size:
        room = np.zeros(tuple(2 * n for n in array.shape), array.dtype)
        view = room[(slice(None, None, 2),) * array.ndim]
        view[...] = array
        return view
    return array


def generate(seed: int) -> ArrayProgram:
    return _Generator(seed).program()


class _Generator:
    def __init__(self, seed: int):
        self.seed, self.rng = seed, random.Random(seed)
        self.names: dict[str, tuple[Shape, str]] = {}  # name -> shape and "c", "f", "i" or "b"
        self.index: Shape = ()  # of the index array J
        self.lines: list[str] = []
        self.indent = "    "

    def program(self) -> ArrayProgram:
        rng = self.rng
        bases = ["N", "M", "K"]
        shapes, dtypes = {}, {}
        for number in range(rng.randint(2, 5)):
            rank = rng.choice((1, 1, 2, 2, 2, 3))
            name = "ABCDE"[number]
            shape = tuple((rng.choice(bases), 0) for _ in range(rank))
            kind = rng.choice("ffffffiibbc")
            dtypes[name] = rng.choice({"c": _COMPLEX, "f": _FLOATS, "i": _INTEGERS, "b": "?"}[kind])
            shapes[name] = shape
            self.names[name] = (shape, kind)
        if rng.random() < 0.25:
            shapes["J"], dtypes["J"] = ((rng.choice(bases), 0),), rng.choice(_INDICES)
            self.index = shapes["J"]
        arguments = list(shapes)
        for _ in range(rng.randint(1, 5)):
            self.statement()
        results = [self.expression(self.some_shape(), 2)[0] for _ in range(rng.randint(0, 2))]
        results += rng.sample(sorted(self.names), min(len(self.names), rng.randint(0, 2)))
        if results:
            self.lines.append(f"    return {', '.join(results)}")
        text = "\n".join([f"def f({', '.join(arguments)}):", *(self.lines or ["    pass"]), ""])
        source, meaning = text.replace("_copy(", "("), text
        sizes = [dict(zip(bases, rng.choices((4, 5, 7, 9), k=3))), dict(zip(bases, rng.choices(_SIZES, k=3)))]
        sizes.append(dict.fromkeys(bases, rng.choice(_SIZES)))
        return ArrayProgram(self.seed, source, meaning, shapes, dtypes, tuple(sizes))

    # Statements

    def statement(self) -> None:
        choice = self.rng.random()
        if choice < 0.06:
            self.assign_masked()
        elif choice < 0.1:
            self.not_affine()
        elif choice < 0.14:
            self.sums_into_elements()
        elif choice < 0.3:
            self.assign_name()
        elif choice < 0.85 or self.indent != "    ":
            self.assign_part()
        else:
            self.loop()

    def sums_into_elements(self) -> None:
        """A product that is added to what was scaled before, or a matrix times itself transposed, which is symmetric."""
        matrices = [name for name, (shape, kind) in self.names.items() if len(shape) == 2 and kind in "fi"]
        if not matrices:
            return self.assign_part()
        name = self.rng.choice(matrices)
        shape, kind = self.names[name]
        if self.indent == "    " and self.rng.random() < 0.5:
            text, made = self.rng.choice(((f"{name}.T @ {name}", shape[1:] * 2), (f"{name} @ {name}.T", shape[:1] * 2)))
            new = f"t{len(self.names)}"
            self.add(f"{new} = {text}{self.rng.choice(('', ' / 2', ' + 1'))}")
            self.names[new] = (made, "f")
            return None
        other = self.rng.choice([n for n in matrices if self.names[n] == (shape, kind)])
        if self.indent == "    " and self.rng.random() < 0.6:
            other = f"t{len(self.names)}"
            self.add(f"{other} = {name} * 1")
            self.names[other] = (shape, kind)
        if self.rng.random() < 0.5:
            self.add(f"{name} {self.rng.choice(('*=', '+=', '-='))} 2")
        scale = self.rng.choice(("", "", "2 * "))
        self.add(f"{name} += _copy({scale}({other} @ ({other}.T @ {other})))")
        return None

    def add(self, line: str) -> None:
        self.lines.append(self.indent + line)

    def assign_name(self) -> None:
        if self.indent != "    ":
            return self.assign_part()
        shape = self.some_shape()
        text, kind = self.expression(shape, 3)
        name = f"t{len(self.names)}"
        if self.rng.random() < 0.1:
            text, kind = f"np.zeros_like({(other := self.rng.choice(sorted(self.names)))})", self.names[other][1]
            shape = self.names[other][0]
        elif text.replace(".", "").replace("-", "").isdigit() or not shape:
            return self.assign_part()
        self.add(f"{name} = {text}")
        self.names[name] = (shape, kind)
        return None

    def assign_part(self) -> None:
        name = self.rng.choice(sorted(self.names))
        shape, kind = self.names[name]
        indices, part = self.subscripts(shape)
        target = f"{name}[{indices}]"
        if not part:
            part = ()
        text, value_kind = self.expression(part, 3, allow_broadcast=True)
        text, value_kind = self.real(text, value_kind, kind)
        operators = ["=", "="]
        if kind != "b" and _ORDER.index(value_kind) <= _ORDER.index(kind) and not target.count("[]"):
            operators += ["+=", "-=", "*="]
        self.add(f"{target} {self.rng.choice(operators)} _copy({text})")

    def real(self, text: str, kind: str, target: str) -> tuple[str, str]:
        """What an array of kind `target` takes: NumPy drops imaginary parts and warns, which is refused."""
        return (f"np.{self.rng.choice(('real', 'imag'))}({text})", "f") if kind == "c" and target != "c" else (text, kind)

    def assign_masked(self) -> None:
        name = self.rng.choice(sorted(self.names))
        shape, kind = self.names[name]
        masks = [other for other, (own, k) in self.names.items() if own == shape and k != "b"]
        if kind == "b" or not shape:
            return self.assign_part()
        test = f"{self.rng.choice(masks)} {self.rng.choice(('>', '<='))} {self.rng.choice(('0', '1'))}"
        self.add(f"{name}[{test}] {self.rng.choice(('=', '=', '+=', '*='))} {self.rng.choice(('2', '-1'))}")
        return None

    def not_affine(self) -> None:
        """What Python must run, around what it need not."""
        if self.indent != "    ":
            return self.assign_part()
        kind = self.rng.choice(("while", "break", "sort"))
        if kind == "sort":
            name = self.rng.choice([n for n, (shape, _) in self.names.items() if shape])
            self.add(f"t{len(self.names)} = np.sort({name}, axis=-1)")
            self.names[f"t{len(self.names)}"] = self.names[name]
            return None
        test, _ = self.expression((), 2)
        counter = f"n{len(self.lines)}"
        if kind == "while":
            self.add(f"{counter} = 0")
        self.add(f"while {counter} < 2:" if kind == "while" else f"for {counter} in range(3):")
        self.indent = "        "
        for _ in range(self.rng.randint(1, 3)):
            self.assign_part()
        self.add(f"{counter} += 1" if kind == "while" else f"if {test} > 2: break")
        if self.rng.random() < 0.3:
            self.assign_part()
        self.indent = "    "
        return None

    def rebinding(self) -> None:
        """A name that a loop binds to a new array in each iteration."""
        name = self.rng.choice(sorted(self.names))
        shape, kind = self.names[name]
        self.add(f"for k in range({self.rng.choice(('2', '3', '0', f'{name}.ndim'))}):")
        self.indent = "        "
        for _ in range(self.rng.randint(1, 3)):
            text, other = self.real(*self.expression(shape, 2), kind)
            if self.rng.random() < 0.3:
                self.assign_part()
            elif _ORDER.index(other) <= _ORDER.index(kind) and any(n in text for n in self.names):
                self.add(f"{name} = {text}")
        if self.lines[-1].endswith(":"):
            self.add("pass")
        self.indent = "    "

    def loop(self) -> None:
        if self.rng.random() < 0.3:
            return self.rebinding()
        name = self.rng.choice([n for n, (shape, _) in self.names.items() if shape])
        shape, kind = self.names[name]
        self.add(f"for i in range({name}.shape[0]):")
        self.indent = "        "
        text, _ = self.real(*self.expression(shape[1:], 2, allow_broadcast=True), kind)
        self.add(f"{name}[i] = _copy({text})")
        if self.rng.random() < 0.5:
            self.assign_part()
        self.indent = "    "
        return None

    # Shapes

    def some_shape(self) -> Shape:
        shape = self.names[self.rng.choice(sorted(self.names))][0]
        if self.rng.random() < 0.3:
            shape = tuple(self.rng.sample(shape, self.rng.randint(0, len(shape))))
        if self.rng.random() < 0.2:
            shape = tuple((base, delta - 1) if base else (base, delta) for base, delta in shape)
        return shape

    def subscripts(self, shape: Shape) -> tuple[str, Shape]:
        """Subscripts of an array of that shape, and the shape that is left."""
        parts, left = [], []
        for base, delta in shape:
            choice = self.rng.random()
            if choice < 0.45:
                parts.append(":")
                left.append((base, delta))
            elif choice < 0.75 and base:
                parts.append(self.rng.choice(("1:", ":-1")))
                left.append((base, delta - 1))
            elif choice < 0.85:
                parts.append("::-1")
                left.append((base, delta))
            else:
                parts.append(str(self.rng.choice((0, -1, 1))))
        return ", ".join(parts) or "()", tuple(left)

    # Expressions: text and kind ("c", "f", "i", "b")

    def expression(self, shape: Shape, depth: int, allow_broadcast: bool = False) -> tuple[str, str]:
        rng = self.rng
        if allow_broadcast and rng.random() < 0.2:
            shape = shape[1:]
        if depth <= 0 or rng.random() < 0.2:
            return self.leaf(shape)
        makers = [self.arithmetic] * 5 + [self.unary] * 2 + [self.choice, self.reduction, self.comparison, self.product]
        return rng.choice(makers)(shape, depth - 1)

    def leaf(self, shape: Shape) -> tuple[str, str]:
        found = []
        for name, (own, kind) in self.names.items():
            found += [(text, kind) for text in self.ways(name, own, shape)]
        if found and self.rng.random() < 0.95:
            return self.rng.choice(found)
        if self.rng.random() < 0.5:
            return self.rng.choice(("2", "3", "-1")), "i"
        return self.rng.choice(("0.5", "1.0", "-2.0")), "f"

    def ways(self, name: str, own: Shape, shape: Shape):
        """How an array of shape `own` can be read with `shape`."""
        if own == shape:
            yield from (name, name)
            if shape:
                yield f"{name}[::-1]"
                yield f"{name}[{', '.join('::-1' for _ in shape)}]"
        if own == shape[::-1] and len(shape) > 1:
            yield f"{name}.T"
        if len(own) == len(shape) and shape and all(o[0] == s[0] and s[1] - o[1] in (0, -1, -2) for o, s in zip(own, shape)):
            if own != shape:
                yield f"{name}[{', '.join(self.cut(s[1] - o[1]) for o, s in zip(own, shape))}]"
        if len(own) == len(shape) + 1:
            for axis in range(len(own)):
                if own[:axis] + own[axis + 1 :] == shape:
                    index = self.rng.choice(("0", "-1"))
                    yield f"{name}[{', '.join([':'] * axis + [index])}]"
        for axis in range(len(own)) if self.index else ():
            if (*own[:axis], *self.index, *own[axis + 1 :]) == shape:
                index = f"{name}[{', '.join([':'] * axis + ['J'])}]"
                yield from (index, index, f"np.take({name}, J, axis={axis})")
        if own and len(own) < len(shape):
            if own == shape[len(shape) - len(own) :]:
                yield name
            if own == shape[: len(own)]:
                yield f"{name}[{', '.join([':'] * len(own) + ['None'] * (len(shape) - len(own)))}]"

    def cut(self, less: int) -> str:
        return self.rng.choice({0: (":",), -1: ("1:", ":-1"), -2: ("1:-1", "2:", ":-2")}[less])

    def arithmetic(self, shape: Shape, depth: int) -> tuple[str, str]:
        (a, ka), (b, kb) = self.expression(shape, depth), self.expression(shape, depth, allow_broadcast=True)
        op = self.rng.choice("++-**/")
        if op == "/":
            divisor = f"(np.abs({b}) + 1.5)" if kb != "b" else f"({b} + 1.5)"
            return f"({a} / {divisor})", "c" if ka == "c" else "f"
        if "b" in (ka, kb) and op == "-":
            op = "+"
        return f"({a} {op} {b})", max(ka, kb, key=_ORDER.index)

    def unary(self, shape: Shape, depth: int) -> tuple[str, str]:
        a, kind = self.expression(shape, depth)
        if kind == "b":
            return f"(~({a}))" if not a[0].isdigit() else a, kind
        if shape and a[0].isalpha() and self.rng.random() < 0.2:
            triangle = f"np.{self.rng.choice(('tril', 'triu'))}({a}, {self.rng.choice((-1, 0, 1))})"
            return (triangle if len(shape) == 2 and self.rng.random() < 0.5 else f"np.roll({a}, 1, axis=-1)"), kind
        if kind == "c":
            function = self.rng.choice(("np.real", "np.imag", "np.abs", "np.conj", "np.square", "-", "1j * "))
            return f"({function}({a}))", "f" if function in ("np.real", "np.imag", "np.abs") else "c"
        if self.rng.random() < 0.05:
            return f"({a} * 1j)", "c"
        if kind == "i" or self.rng.random() < 0.5:
            return self.rng.choice((f"(-{a})", f"np.abs({a})", f"np.minimum({a}, 2)", f"np.maximum({a}, {a})")), kind
        return self.rng.choice((f"np.sqrt(np.abs({a}))", f"np.tanh({a})", f"np.clip({a}, -1.0, 4.0)")), "f"

    def choice(self, shape: Shape, depth: int) -> tuple[str, str]:
        test, _ = self.comparison(shape, depth)
        (a, ka), (b, kb) = self.expression(shape, depth), self.expression(shape, depth)
        return f"np.where({test}, {a}, {b})", max(ka, kb, key=_ORDER.index)

    def comparison(self, shape: Shape, depth: int) -> tuple[str, str]:
        a, kind = self.leaf(shape)
        return f"({a} {self.rng.choice(('>', '<=', '==', '!='))} {self.rng.choice(('0', '1', '2'))})", "b"

    def reduction(self, shape: Shape, depth: int) -> tuple[str, str]:
        rng = self.rng
        dims = [d for own, _ in self.names.values() for d in own] or [_ONE]
        axis = rng.randint(0, len(shape))
        a, kind = self.expression((*shape[:axis], rng.choice(dims), *shape[axis:]), depth)
        if not any(name in a for name in self.names) or a.lstrip("-").replace(".", "").isdigit():
            return self.leaf(shape)
        function = rng.choice(("sum", "sum", "max", "min", "mean", "any", "all", "argmax", "argmin"))
        if function in ("any", "all"):
            return f"np.{function}({a}, axis={axis})", "b"
        if function in ("argmax", "argmin"):
            return f"np.{function}({a}, axis={axis})", "i"
        if function == "mean":
            return f"np.mean({a}, axis={axis})", "c" if kind == "c" else "f"
        return f"np.{function}({a}, axis={axis})", ("i" if kind == "b" and function == "sum" else kind)

    def product(self, shape: Shape, depth: int) -> tuple[str, str]:
        if len(shape) not in (1, 2):
            return self.arithmetic(shape, depth)
        inner = self.rng.choice([d for own, _ in self.names.values() for d in own] or [_ONE])
        (a, ka), (b, kb) = self.leaf((shape[0], inner)), self.leaf((inner, *shape[1:]))
        if "b" in (ka, kb) or not (a[0].isalpha() and b[0].isalpha()):
            return self.leaf(shape)
        if self.rng.random() < 0.4:
            subscripts = "ij,jk->ik" if len(shape) == 2 else "ij,j->i"
            return f'np.einsum("{subscripts}", {a}, {b})', max(ka, kb, key=_ORDER.index)
        return f"({a} @ {b})", max(ka, kb, key=_ORDER.index)
