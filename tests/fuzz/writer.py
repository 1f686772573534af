"""Random loops and statements: the body and the arguments of one free program."""

from __future__ import annotations

import random

from tests.fuzz.affine import Affine, Var, affine, plus, text
from tests.fuzz.expressions import FLOATS, INTEGERS, Array, Expressions, Scope
from tests.fuzz.program import NUMPY_NAME, Argument


class Writer(Expressions):
    """After `write()`: `lines` is the body of the function, `arguments` its parameters."""

    def __init__(self, rng: random.Random):
        super().__init__(rng)
        self.lines: list[str] = []
        self.counter = 0
        self.main = rng.choice(FLOATS) if rng.random() < 0.55 else rng.choice((*INTEGERS, "bool"))
        self.mixed = rng.random() < 0.25
        self.arrays = [self._argument_array(name) for name in "ABCDE"[: rng.randint(1, 4)]]
        used = [name for a in self.arrays for e in a.extents for name, c in e.items() if name and c]
        self.looped = used + [rng.choice(self.symbols)] if used else self.symbols
        self.arguments: list[Argument] = []
        self._declare()

    def _element(self) -> str:
        if not self.mixed or self.rng.random() < 0.6:
            return self.main
        return self.rng.choice((*FLOATS, *INTEGERS, "bool"))

    def _argument_array(self, name: str) -> Array:
        rank = self.rng.choices([0, 1, 2, 3], [1, 9, 9, 3])[0]
        return Array(name, self._element(), tuple(self._extent() for _ in range(rank)), self.rng.random() < 0.7)

    def _extent(self) -> Affine:
        size = self.rng.choice(self.symbols)
        form = self.rng.random()
        if form < 0.72:
            return affine(0, **{size: 1})
        if form < 0.84:
            return affine(self.rng.randint(1, 3), **{size: 1})
        if form < 0.89:
            return affine(self.rng.randint(0, 1), **{size: 2})
        if form < 0.94:
            return plus(affine(0, **{size: 1}), affine(0, **{self.rng.choice(self.symbols): 1}))
        return affine(self.rng.randint(1, 5))

    def _declare(self) -> None:
        """Parameters in random order, and every way to write each size."""
        rng = self.rng
        declared = [Argument(a.name, a.element, tuple(text(e) for e in a.extents)) for a in self.arrays]
        for size in self.symbols:
            for array in self.arrays:
                for dim, extent in enumerate(array.extents):
                    offset = plus(extent, {size: -1})
                    if not any(c for n, c in offset.items() if n):
                        self._spell(size, f"{array.name}.shape[{dim}]", -offset[""])
        for size in self.symbols:
            if size not in self.spelling or rng.random() < 0.15:
                declared.append(Argument(f"{size.lower()}s", "int", value=size))
                self._spell(size, f"{size.lower()}s", 0)
        if rng.random() < 0.25:
            element = rng.choice(["int", "float", self.main])
            declared.append(Argument("alpha", element))
            self.factors["alpha"] = element
        rng.shuffle(declared)
        self.arguments = declared
        for size in self.symbols:
            if rng.random() < 0.4:
                self._line(0, f"{size} = {rng.choice(self.spelling[size])}")
                self.spelling[size] = [size]

    def _spell(self, size: str, source: str, offset: int) -> None:
        spelled = source if offset == 0 else f"({source} {'+' if offset > 0 else '-'} {abs(offset)})"
        self.spelling.setdefault(size, []).append(spelled)

    def _line(self, level: int, source: str) -> None:
        self.lines.append("    " * (level + 1) + source)

    def write(self) -> None:
        scope = Scope()
        for _ in range(self.rng.choice([0, 0, 0, 1])):
            self._local_array(scope)
        for _ in range(self.rng.choices([1, 2, 3, 4], [5, 4, 2, 1])[0]):
            if self.rng.random() < 0.12:
                self._local_scalar(0, scope)
            if self.rng.random() < 0.07:
                self._local_array(scope)
            self._nest(0, scope, self.rng.choices([0, 1, 2, 3, 4], [1, 6, 9, 5, 1])[0])
        self._return(scope)

    def _return(self, scope: Scope) -> None:
        rng = self.rng
        names = [a.name for a in self.arrays if a.extents] + list(scope.scalars)
        if rng.random() < 0.5 and not any(a.name.startswith("T") for a in self.arrays):
            return
        if not names:
            return
        chosen = rng.sample(names, rng.choice([1, 1, 1, min(2, len(names)), min(3, len(names))]))
        self._line(0, "return " + ", ".join(chosen))

    def _local_array(self, scope: Scope) -> None:
        rng = self.rng
        rank = rng.choice([1, 1, 2])
        element = self._element()
        extents = tuple(affine(0, **{rng.choice(self.looped): 1}) for _ in range(rank))
        name = f"T{self.counter}"
        self.counter += 1
        like = [a for a in self.arrays if a.extents and not a.name.startswith("T")]
        dtype = f"np.{NUMPY_NAME[element]}" if element != "bool" else "np.bool_"
        if like and rng.random() < 0.25:
            twin = rng.choice(like)
            extents, element = twin.extents, twin.element
            self._line(0, f"{name} = np.{rng.choice(['zeros_like', 'ones_like'])}({twin.name})")
        else:
            shape = ", ".join(self._affine_text(e) for e in extents)
            shape = f"({shape},)" if rank == 1 and rng.random() < 0.5 else shape if rank == 1 else f"({shape})"
            kind = rng.choice(["zeros", "zeros", "ones", "full", "empty"])
            fill = ", 3" if kind == "full" and element != "bool" else ", True" if kind == "full" else ""
            typed = "" if element == "f64" and rng.random() < 0.5 and kind != "full" else f", dtype={dtype}"
            self._line(0, f"{name} = np.{kind}({shape}{fill}{typed})")
            if kind == "empty":
                self._fill(Array(name, element, extents), scope)
        self.arrays.append(Array(name, element, extents))

    def _fill(self, array: Array, scope: Scope) -> None:
        """Loops that write every element: np.empty holds nothing that may be read."""
        inner, level = scope, 0
        for extent in array.extents:
            name = self._fresh(inner)
            self._line(level, f"for {name} in range({self._affine_text(extent)}):")
            inner = inner.inner(Var.make(name, 0, plus(extent, affine(-1))))
            level += 1
        indices = ", ".join(inner.variables)
        self._line(level, f"{array.name}[{indices}] = {self._value(array.element, inner, 1)}")

    def _local_scalar(self, level: int, scope: Scope) -> None:
        self.counter += 1
        element = self.main
        name = f"s{self.counter}"
        zero = {"f": "0.0", "i": "0", "u": "0", "b": "False"}[element[0]]
        start = zero if self.rng.random() < 0.4 else self._value(element, scope, 1)
        if element not in ("f64", "bool") and self.rng.random() < 0.8:
            start = f"np.{NUMPY_NAME[element]}({zero})"
        self._line(level, f"{name} = {start}")
        scope.scalars[name] = element

    def _nest(self, level: int, scope: Scope, loops: int) -> None:
        if loops == 0:
            self._statement(level, scope)
            return
        var = self._loop(level, scope)
        inner = scope.inner(var)
        before, after = self.rng.random() < 0.22, self.rng.random() < 0.15
        if loops > 1 and before:
            if self.rng.random() < 0.45:
                self._local_scalar(level + 1, inner)
            else:
                self._statement(level + 1, inner)
        self._nest(level + 1, inner, loops - 1)
        if loops == 1:
            for _ in range(self.rng.choices([0, 1, 2], [6, 3, 1])[0]):
                self._statement(level + 1, inner)
        elif after:
            self._statement(level + 1, inner)
        elif self.rng.random() < 0.1:
            self._nest(level + 1, inner, self.rng.randint(1, loops - 1))

    def _fresh(self, scope: Scope) -> str:
        return next(n for n in ("i", "j", "k", "l", "ii", "jj", "kk") if n not in scope.variables)

    def _loop(self, level: int, scope: Scope) -> Var:
        name = self._fresh(scope)
        var, header = self._range(name, scope)
        self._line(level, f"for {name} in {header}:")
        return var

    def _range(self, name: str, scope: Scope) -> tuple[Var, str]:
        """A loop header, and what it says of its variable."""
        rng, t = self.rng, self._affine_text
        size = affine(0, **{rng.choice(self.looped): 1})
        last = plus(size, affine(-1))
        outer = rng.choice(list(scope.variables.values())) if scope.variables else None
        form = rng.choices(
            ["full", "halo", "down", "stride", "constant", "half", "lower", "upper", "band", "skewed", "descend"],
            [30, 14, 6, 5, 4, 2] + ([8, 8, 4, 3, 3] if outer else [0] * 5),
        )[0]
        a, b = rng.randint(0, 2), rng.randint(0, 2)
        up = dict(outer.upper) if outer else affine()
        if form == "halo":
            return Var.make(name, a, plus(last, affine(-b))), f"range({a}, {t(plus(size, affine(-b)))})"
        if form == "down":
            step = rng.choice([1, 1, 2])
            return Var.make(name, a, plus(last, affine(-b))), f"range({t(plus(last, affine(-b)))}, {a - 1}, {-step})"
        if form == "stride":
            return Var.make(name, a, last), f"range({a}, {t(size)}, {rng.choice([2, 3, 4, 5])})"
        if form == "constant":
            count = rng.randint(1, 4)
            return Var.make(name, 0, affine(count - 1)), f"range({count})"
        if form == "half":
            return Var.make(name, 0, last), f"range({t(size)} // 2)"
        if form == "lower":
            extra = rng.randint(0, 1)
            inclusive = plus(up, affine(extra - 1))
            return Var.make(name, 0, inclusive), f"range({t(affine(extra, **{outer.name: 1}))})"
        if form == "upper":
            return Var.make(name, outer.lower + a, last), f"range({t(affine(a, **{outer.name: 1}))}, {t(size)})"
        if form == "band":
            low, high = f"max(0, {outer.name} - {a})", f"min({t(size)}, {outer.name} + {b + 1})"
            if rng.random() < 0.4:
                return Var.make(name, 0, last), f"range({low}, {t(size)})"
            return Var.make(name, 0, last), f"range({low}, {high})"
        if form == "skewed":
            start = affine(0, **{outer.name: 1})
            return Var.make(name, outer.lower, plus(up, last)), f"range({outer.name}, {t(plus(start, size))})"
        if form == "descend":
            return Var.make(name, 0, up), f"range({outer.name}, -1, -1)"
        return Var.make(name, 0, last), f"range({t(size)})"

    def _statement(self, level: int, scope: Scope) -> None:
        rng = self.rng
        if rng.random() < 0.16 and scope.variables:
            self._conditional(level, scope)
            return
        if scope.scalars and rng.random() < 0.3:
            name = rng.choice(list(scope.scalars))
            self._update(level, name, scope.scalars[name], scope)
            return
        writable = [a for a in self.arrays if a.written] or self.arrays
        target = self._fitting(writable, scope)
        self._update(level, self._element_of(target, scope), target.element, scope)

    def _conditional(self, level: int, scope: Scope) -> None:
        condition, narrowed = self._condition(scope)
        inner = Scope({**scope.variables, **narrowed}, dict(scope.scalars), scope.depth)
        self._line(level, f"if {condition}:")
        for _ in range(self.rng.choice([1, 1, 2])):
            self._plain_statement(level + 1, inner)
        if self.rng.random() < 0.2:
            self._line(level, f"elif {self._condition(scope)[0]}:")
            self._plain_statement(level + 1, scope)
        if self.rng.random() < 0.4:
            self._line(level, "else:")
            self._plain_statement(level + 1, scope)

    def _plain_statement(self, level: int, scope: Scope) -> None:
        target = self._fitting([a for a in self.arrays if a.written] or self.arrays, scope)
        self._update(level, self._element_of(target, scope), target.element, scope)

    def _update(self, level: int, target: str, element: str, scope: Scope) -> None:
        rng = self.rng
        value = self._value(element, scope, rng.choices([0, 1, 2, 3], [2, 6, 6, 2])[0])
        if element == "bool":
            forms = [f"{target} = {value}"] * 4 + [f"{target} = {target} {rng.choice(['and', 'or'])} {value}"]
            forms += [f"{target} {rng.choice('&|^')}= {value}"]
            self._line(level, rng.choice(forms))
            return
        form = rng.choices(["=", "+=", "-=", "*=", "long+", "min", "max", "chain", "int", "/="], [40, 22, 5, 4, 7, 4, 4, 3, 3, 2])[
            0
        ]
        if form == "long+":
            line = f"{target} = {target} + {value}" if rng.random() < 0.7 else f"{target} = {value} + {target}"
        elif form in ("min", "max"):
            function = form if rng.random() < 0.7 else f"np.{form}imum"
            line = f"{target} = {function}({target}, {value})"
        elif form == "chain":
            others = [a for a in self.arrays if a.element == element]
            second = self._element_of(rng.choice(others), scope) if others else target
            line = f"{target} = {second} = {value}"
        elif form == "int" and element[0] in "iu":
            line = rng.choice([f"{target} {op}= {value}" for op in "&|^"] + [f"{target} //= 3", f"{target} %= 5"])
        elif form == "/=" and element[0] == "f":
            line = f"{target} /= {rng.choice(['2.0', '3.0', f'(1.5 + abs({value}))'])}"
        elif form == "*=" and element[0] == "f":
            line = f"{target} *= {rng.choice(['0.5', '-1.0', '1.25', value])}"
        else:
            line = f"{target} {form if form in ('=', '+=', '-=') else '='} {value}"
        self._line(level, line)
