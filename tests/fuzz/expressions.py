"""Random subscripts, values and conditions for the free programs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.fuzz.affine import Affine, Var, affine, plus, room, text
from tests.fuzz.program import NUMPY_NAME

FLOATS = ("f64", "f64", "f64", "f32")
INTEGERS = ("i64", "i64", "i32", "i32", "i16", "i8", "u8", "u16", "u32", "u64")


@dataclass(frozen=True)
class Array:
    name: str
    element: str
    extents: tuple[Affine, ...]
    written: bool = True


@dataclass
class Scope:
    """What may be named at one point of the text."""

    variables: dict[str, Var] = field(default_factory=dict)
    scalars: dict[str, str] = field(default_factory=dict)  # local scalar -> element type
    depth: int = 0

    def inner(self, *more: Var) -> Scope:
        variables = {**self.variables, **{v.name: v for v in more}}
        return Scope(variables, dict(self.scalars), self.depth + 1)


class Expressions:
    """Writes expressions over what a scope offers. All choices come from `rng`.

    arrays: the argument and local arrays. factors: number arguments, name -> element. symbols: the sizes.
    looped: the sizes loops run over, repeated by weight. spelling: the ways to write each size.
    violate: some subscripts leave their array on purpose.
    """

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.arrays: list[Array] = []
        self.factors: dict[str, str] = {}
        self.spelling: dict[str, list[str]] = {}
        self.symbols = ["N", "M", "K"][: rng.choice([1, 2, 2, 3])]
        self.looped = list(self.symbols)
        self.violate = rng.random() < 0.04

    def _affine_text(self, a: Affine) -> str:
        return text(a, {size: self.rng.choice(ways) for size, ways in self.spelling.items()})

    def _condition(self, scope: Scope) -> tuple[str, dict[str, Var]]:
        """An affine condition (with what it proves of a variable), or one on data."""
        rng = self.rng
        if rng.random() < 0.35 and self.arrays:
            return self._data_condition(scope), {}
        var = rng.choice(list(scope.variables.values()))
        other = rng.choice(list(scope.variables.values()))
        size = affine(0, **{rng.choice(self.looped): 1})
        form = rng.randrange(8)
        if form == 0:
            return f"{var.name} > 0", {var.name: Var(var.name, max(1, var.lower), var.upper)}
        if form == 1:
            upper = plus(size, affine(-2))
            narrowed = {var.name: Var.make(var.name, var.lower, upper)}
            return f"{var.name} < {self._affine_text(plus(size, affine(-1)))}", narrowed
        if form == 2:
            return f"{var.name} % {rng.choice([2, 3])} == {rng.randint(0, 1)}", {}
        if form == 3:
            return f"{var.name} {rng.choice(['<', '<=', '!=', '=='])} {other.name}", {}
        if form == 4:
            return f"{var.name} + {other.name} {rng.choice(['<', '>='])} {self._affine_text(size)}", {}
        if form == 5:
            return f"{rng.randint(0, 2)} <= {var.name} < {rng.randint(3, 6)}", {}
        if form == 6:
            return f"{var.name} == {rng.randint(0, 2)} or {other.name} > {rng.randint(1, 3)}", {}
        return f"not {var.name} >= {rng.randint(1, 4)}", {}

    def _data_condition(self, scope: Scope) -> str:
        array = self.rng.choice(self.arrays)
        element = self._element_of(array, scope)
        if array.element == "bool":
            return self.rng.choice([element, f"not {element}"])
        left = element if self.rng.random() < 0.7 else self._value(array.element, scope, 1)
        bound = "1" if array.element[0] in "iu" else "0.25"
        right = bound if self.rng.random() < 0.6 else self._value(array.element, scope, 0)
        return f"{left} {self.rng.choice(['<', '<=', '>', '>=', '!=', '=='])} {right}"

    def _element_of(self, array: Array, scope: Scope) -> str:
        if not array.extents:
            return f"{array.name}[()]"
        used: list[str] = []
        indices = [self._index(array, dim, scope, used) for dim in range(len(array.extents))]
        if len(indices) > 1 and self.rng.random() < 0.06:
            return array.name + "".join(f"[{i}]" for i in indices)
        return f"{array.name}[{', '.join(indices)}]"

    def _fitting(self, arrays: Sequence[Array], scope: Scope) -> Array:
        """One of the arrays, preferably one whose dimensions the loop variables run over."""
        sizes = {name for v in scope.variables.values() for name, c in v.upper if name and c}

        def misfit(array: Array) -> float:
            missed = sum(not sizes & {n for n, c in e.items() if n and c} for e in array.extents)
            unused = abs(len(array.extents) - min(2, len(scope.variables)))
            return missed + unused + 2 * self.rng.random()

        return min(arrays, key=misfit)

    def _index(self, array: Array, dim: int, scope: Scope, used: list[str]) -> str:
        """A subscript that stays inside, for all sizes that let the loops run."""
        rng, extent = self.rng, array.extents[dim]
        names = [n for n in scope.variables if n not in used] or list(scope.variables)
        rng.shuffle(names)
        for _ in range(6):
            if not names:
                break
            candidate = self._linear(names, extent)
            inside = room(candidate, extent, scope.variables)
            if not inside:
                names = names[1:] + names[:1]
                continue
            used.extend(n for n in candidate if n in scope.variables)
            constant = 0 if 0 in inside and rng.random() < 0.6 else rng.choice(inside[:4])
            exact = plus(candidate, affine(constant))
            if self.violate and rng.random() < 0.3:
                exact = plus(exact, affine(rng.choice([-1, 1, 2])))
            return self._spelled_index(exact, array, dim, inside)
        return self._odd_index(extent, scope)

    def _linear(self, names: list[str], extent: Affine) -> Affine:
        form, v = self.rng.random(), names[0]
        w = names[1] if len(names) > 1 else v
        if form < 0.7:
            return affine(0, **{v: 1})
        if form < 0.78:
            return plus(plus(extent, affine(-1)), affine(0, **{v: -1}))
        if form < 0.86 and v != w:
            return affine(0, **{v: 1, w: 1})
        if form < 0.91 and v != w:
            return affine(0, **{v: 1, w: -1})
        if form < 0.96:
            return affine(0, **{v: 2})
        return affine(0)

    def _spelled_index(self, exact: Affine, array: Array, dim: int, inside: range) -> str:
        """The subscript itself, or another way to reach an element: from the end, clamped, halved, wrapped."""
        rng = self.rng
        source, form = self._affine_text(exact), rng.random()
        if form < 0.86:
            return source
        extent = f"{array.name}.shape[{dim}]"
        if form < 0.89:
            return f"{source} - {extent}"
        if form < 0.91:
            return f"min({source} + {rng.randint(1, 2)}, {extent} - 1)"
        if form < 0.93:
            return f"max({source} - {rng.randint(1, 2)}, 0)"
        if form < 0.95:
            return f"({source}) // {rng.choice([2, 3])}"
        if form < 0.97:
            return f"({source}) - 1"  # wraps at the first element
        if form < 0.985:
            return f"({source}) - ({source}) % {rng.choice([2, 3])}"
        return f"({source} if {source} > 1 else 0)"

    def _odd_index(self, extent: Affine, scope: Scope) -> str:
        if not any(c for n, c in extent.items() if n) and extent[""] > 1 and scope.variables:
            return f"({self.rng.choice(list(scope.variables))} + {self.rng.randint(0, 3)}) % {extent['']}"
        return self.rng.choice(["0", "0", "-1"])

    def _value(self, element: str, scope: Scope, size: int) -> str:
        """An expression that an element of that type can take. size: how many operators at most on a path."""
        if element == "bool":
            return self._truth(scope, size)
        if size == 0:
            return self._leaf(element, scope)
        if element[0] == "f":
            return self._float(element, scope, size)
        return self._integer(element, scope, size)

    def _leaf(self, element: str, scope: Scope) -> str:
        rng, form = self.rng, self.rng.random()
        kinds = "fiub" if element[0] == "f" else "iub" if element[0] in "iu" else "b"
        same = [a for a in self.arrays if a.element == element]
        other = [a for a in self.arrays if a.element[0] in kinds and a.element != element]
        scalars = [n for n, e in scope.scalars.items() if e == element or e[0] == element[0] == "f"]
        if other and form < 0.12:
            return self._element_of(self._fitting(other, scope), scope)
        if same and form < 0.68:
            return self._element_of(self._fitting(same, scope), scope)
        if scalars and form < 0.82:
            return rng.choice(scalars)
        takes = {element, "int", "float"} if element[0] == "f" else {element, "int"}
        fitting = [n for n, e in self.factors.items() if e in takes]
        if fitting and form < 0.86:
            return rng.choice(fitting)
        if scope.variables and form < 0.93:
            name = rng.choice(list(scope.variables))
            return name if element[0] != "f" or rng.random() < 0.6 else f"float({name})"
        if element[0] == "f":
            literals = ["0.5", "2.0", "0.25", "-1.5", "0.1", "1.0", "3", "1 / 3", f"np.{NUMPY_NAME[element]}(0.7)"]
            return rng.choice(literals)
        return rng.choice(["1", "2", "3", "5"] + ([] if element[0] == "u" else ["-1", "-2"]))

    def _float(self, element: str, scope: Scope, size: int) -> str:
        rng = self.rng
        a, b = self._value(element, scope, size - 1), self._value(element, scope, rng.randrange(size))
        form = rng.choices(
            ["+", "-", "*", "mean", "/", "min", "-x", "abs", "sqrt", "call", "cond", "cast", "//"],
            [30, 16, 26, 6, 4, 5, 4, 3, 2, 3, 5, 2, 1],
        )[0]
        if form in ("+", "-", "*"):
            return f"({a} {form} {b})"
        if form == "mean":
            c = self._value(element, scope, 0)
            return rng.choice([f"(({a} + {b} + {c}) / 3.0)", f"(0.25 * ({a} + {b}) + 0.5 * {c})"])
        if form == "/":
            return rng.choice([f"({a} / {rng.choice(['2.0', '3.0', '7'])})", f"({a} / (1.5 + abs({b})))"])
        if form == "min":
            return f"{rng.choice(['min', 'max', 'np.minimum', 'np.maximum'])}({a}, {b})"
        if form == "-x":
            return f"(-{a})"
        if form == "abs":
            return f"{rng.choice(['abs', 'np.abs', 'np.floor', 'np.square'])}({a})"
        if form == "sqrt":
            return f"np.sqrt(abs({a}))"
        if form == "call":
            function = rng.choice(["exp", "sin", "cos", "tanh", "arctan"])
            return f"np.{function}({rng.choice(['0.5 * ', ''])}{self._value(element, scope, 0)})"
        if form == "cond":
            return f"({a} if {self._some_condition(scope)} else {b})"
        if form == "cast":
            return f"np.{rng.choice(['float32', 'float64'])}({a})"
        return f"({a} {rng.choice(['//', '%'])} {rng.choice(['2.0', '0.75'])})"

    def _integer(self, element: str, scope: Scope, size: int) -> str:
        rng = self.rng
        a, b = self._value(element, scope, size - 1), self._value(element, scope, rng.randrange(size))
        form = rng.choices(
            ["+", "-", "*", "bits", "//", "%", "min", "unary", "cond", "shift", "cast", "power"],
            [34, 14, 18, 6, 4, 5, 6, 4, 6, 2, 2, 1],
        )[0]
        if form in ("+", "-", "*"):
            return f"({a} {form} {b})"
        if form == "bits":
            return f"({a} {rng.choice('&|^')} {b})"
        if form in ("//", "%"):
            divisor = b if rng.random() < 0.15 else rng.choice(["2", "3", "7"])
            return f"({a} {form} {divisor})"
        if form == "min":
            return f"{rng.choice(['min', 'max', 'np.minimum', 'np.maximum'])}({a}, {b})"
        if form == "unary":
            return f"({'~' if rng.random() < 0.4 else '-'}{a})" if rng.random() < 0.7 else f"abs({a})"
        if form == "cond":
            return f"({a} if {self._some_condition(scope)} else {b})"
        if form == "shift":
            return f"({a} {rng.choice(['<<', '>>'])} {rng.randint(0, 3)})"
        if form == "cast":
            return f"np.{NUMPY_NAME[rng.choice(INTEGERS)]}({a})" if a.startswith(("(", *"ABCDET")) else a
        return f"({a} ** 2)"

    def _truth(self, scope: Scope, size: int) -> str:
        rng = self.rng
        bools = [a for a in self.arrays if a.element == "bool"]
        if size == 0 or not self.arrays:
            if bools and rng.random() < 0.8:
                return self._element_of(rng.choice(bools), scope)
            return self._some_condition(scope) if scope.variables or self.arrays else "True"
        a, b = self._truth(scope, size - 1), self._truth(scope, size - 1)
        return rng.choice([f"({a} and {b})", f"({a} or {b})", f"(not {a})", f"({self._data_condition(scope)})"])

    def _some_condition(self, scope: Scope) -> str:
        return f"({self._condition(scope)[0] if scope.variables else self._data_condition(scope)})"
