"""Loop nests that GPUs run in forms of their own: rows that a team of threads runs from their first launch to the last, and sums over several
loops for elements whose loops become two axes of a grid.

A template takes the random source and gives the text and the arguments; the sizes are drawn by the generator. These are asked for by name:
with them among the others, the programs of all numbers would be different ones.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tests.fuzz.program import Argument
from tests.fuzz.template_parts import Made

_MOST = 600  # instances of a sum


@dataclass
class _Rows:
    """What was written so far of a kernel that runs rows.

    outer: the loops around that of a row's elements, outermost first. named: arrays whose elements of a row are set already.
    scalars: names of the row's numbers. lines: of the body of the rows' loop.
    """

    rng: random.Random
    element: str
    outer: tuple[str, ...]
    vectors: tuple[str, ...]
    more: tuple[str, ...]
    written: list[str] = field(default_factory=list)
    scalars: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    @property
    def is_float(self) -> bool:
        return self.element[0] == "f"

    def at(self, array: str) -> str:
        return f"{array}[{', '.join((*self.outer, 'j'))}]"

    def load(self, text: str) -> str:
        return f"np.float32({text})" if self.element == "f16" else text

    def number(self, text: str) -> str:
        """A constant of the type in which the kernel computes."""
        return f"np.float32({text})" if self.element in ("f16", "f32") else text if self.is_float else str(int(float(text) * 2))

    def operand(self) -> str:
        """An element of the row, of another array with rows or of a vector."""
        kinds = [self.at(name) for name in ("x", *self.more, *self.written)] + [f"{name}[j]" for name in self.vectors]
        return self.load(self.rng.choice([kinds[0], *kinds]))

    def value(self, is_bounded: bool = False) -> str:
        """An expression over elements and the row's numbers. is_bounded: it is not to grow with what was summed up."""
        rng, first = self.rng, self.operand()
        terms = [first, f"{first} * {self.operand()}", f"{first} - {self.operand()}", f"{first} * {self.number('0.5')}"]
        terms += [f"max({first}, {self.number('0.0')})", f"abs({first})"]
        if self.is_float:
            terms += [f"np.exp({first} * {self.number('0.5')})"] * is_bounded
        if self.scalars and not is_bounded:
            number = rng.choice(self.scalars)
            terms += [f"{first} - {number}", f"{first} + {number}", f"({first} - {number}) * {self.operand()}"] * 2
            if self.is_float:
                divisor = f"({self.number('1.5')} + abs({number}))"
                terms += [
                    f"{first} / {divisor}",
                    f"np.exp(({first} - {number}) / {divisor})",
                    f"{first} * {number} / {divisor}",
                ] * 2
        return rng.choice(terms)

    def loop(self, body: list[str]) -> None:
        width = f"x.shape[{len(self.outer)}]"
        start = self.rng.choices(["", "1, ", "2, "], [12, 1, 1])[0]
        self.lines += [f"for j in range({start}{width}):", *(f"    {line}" for line in body)]

    def update(self, name: str) -> str:
        """A sum or maximum of the row, which begins before the loop of this line."""
        value, kind = self.value(is_bounded=not self.scalars or self.rng.random() < 0.5), self.rng.random()
        if kind < 0.55:
            self.lines.append(f"{name} = {self.number('0.0')}")
            return f"{name} += {value}"
        if kind < 0.65:
            self.lines.append(f"{name} = {self.rng.choice(self.scalars) if self.scalars else self.number('1.5')}")
            return f"{name} {self.rng.choice(['+=', '-='])} {value}"
        call = self.rng.choice(["max", "max", "min", *(["np.maximum"] * 2 if self.is_float else [])])
        low = "1e4" if call == "min" else "-1e4"
        self.lines.append(f"{name} = {self.number(low)}")
        return f"{name} = {call}({name}, {value})"

    def new_scalar(self) -> str:
        name = f"s{len(self.scalars)}"
        if self.rng.random() < 0.35:
            self.kept.append(name)
            name = f"{name}[{', '.join(self.outer)}]"
        return name

    def step(self, kind: str) -> None:
        if kind == "number":
            name, old = self.new_scalar(), self.rng.choice(self.scalars)
            divided = f"{old} / ({self.number('2.0')} + abs({old}))" if self.is_float else f"{old} - 3"
            halved = f"{old} * {self.number('0.5')}"
            self.lines.append(f"{name} = {self.rng.choice([divided, halved])}")
            self.scalars.append(name)
            return
        body = list[str]()
        if kind in ("map", "both"):
            target = self.rng.choice(["x", "y", "y", "y", "z"])
            body.append(f"{self.at(target)} = {self.value()}")
            if target not in ("x", *self.more, *self.written):
                self.written.append(target)
        name = self.new_scalar() if kind in ("reduce", "both") else ""
        if name:
            body.append(self.update(name))
        self.loop(body)
        if name:
            self.scalars.append(name)


def rows(rng: random.Random) -> Made:
    """Steps over each row, such as those of softmax and layernorm: sums and maxima, and elements from these numbers and vectors."""
    element = rng.choices(["f64", "f32", "f16", "i64", "i32"], [5, 6, 3, 1, 1])[0]
    outer = rng.choice([("i",), ("i",), ("i",), ("b", "i")])
    vectors, more = ("w", "v")[: rng.randint(0, 2)], ("z",)[: rng.randint(0, 1)]
    made = _Rows(rng, element, outer, vectors, more)
    steps = [
        rng.choice(["reduce", "reduce", "map"]),
        *rng.choices(["reduce", "map", "both", "number"], [3, 3, 3, 2], k=rng.randint(1, 4)),
    ]
    for kind in (*steps, "map"):
        made.step("reduce" if kind == "number" and not made.scalars else kind)
    loops = [f"{'    ' * (d + 1)}for {name} in range(x.shape[{d}]):" for d, name in enumerate(outer)]
    body = [f"{'    ' * (len(outer) + 1)}{line}" for line in made.lines]
    arrays = ["x", *dict.fromkeys((*made.more, *made.written, *(a for a in "yz" if f"{a}[" in "".join(made.lines))))]
    count, width = rng.choice(["N // 6", "N // 9", "N // 4"]), rng.choice(["M", "2 * M + 1", "4 * M + K", "9 * M - 2 * K"])
    shape = (*(["2"] if len(outer) > 1 else []), count, width)
    wide, narrow = "f32" if element == "f16" else element, element
    arguments = [Argument(name, narrow, shape) for name in arrays]
    arguments += [Argument(name, narrow, (width,)) for name in vectors]
    arguments += [Argument(name, wide, shape[:-1]) for name in made.kept]
    rng.shuffle(arguments)
    head = f"def kernel({', '.join(argument.name for argument in arguments)}):"
    return "\n".join([head, *loops, *body]), tuple(arguments)


def sums_of_products(rng: random.Random) -> Made:
    """A sum of products, or a maximum, over up to three loops, for elements whose loops each belong to one of two operands, or to both."""
    element = rng.choices(["f64", "f32", "i64", "i32"], [3, 6, 1, 1])[0]
    names = [*"abcde"[: rng.choice([3, 3, 4, 5])]]
    sides = ["A", "B", *rng.choices(["A", "B", "both"], [5, 5, 1], k=len(names) - 2)]
    if sides.count("A") + sides.count("B") < 3:
        sides[2] = rng.choice("AB")
    rng.shuffle(sides)
    inner = [*"pqr"[: rng.randint(1, 3)]]
    extents, room = dict[str, str](), _MOST
    for name, size in zip(rng.sample([*names, *inner], 2), "NM"):
        extents[name], room = size, room // 8
    for name in sorted({*names, *inner} - {*extents}, key=lambda _: rng.random()):
        most = max(1, min(room, 3 if name in inner else 5))
        size = rng.randint(1, most) if rng.random() < 0.3 else most
        extents[name], room = str(size), room // size
    own = {side: [name for name, of in zip(names, sides) if of in (side, "both")] for side in "AB"}
    windows = dict(zip(own["A"][-1:], inner[-1:])) if rng.random() < 0.4 else {}  # as convolutions move along both
    if len(own["A"]) > 1 and len(inner) > 1 and windows:
        windows |= dict(zip(own["A"][-2:-1], inner[-2:-1]))
    stride = rng.choice([1, 1, 2])
    moved = [(f"{stride} * {a} + {p}", f"{stride} * ({extents[a]}) + {extents[p]}") for a, p in windows.items()]
    left = [(name, extents[name]) for name in [*own["A"], *inner] if name not in windows and name not in windows.values()]
    left += moved
    right = [(name, extents[name]) for name in [*own["B"], *inner]]
    rng.shuffle(left), rng.shuffle(right)
    element_of = rng.sample(names, len(names)) if rng.random() < 0.3 else names
    at = f"C[{', '.join(element_of)}]"
    a, b = (f"{name}[{', '.join(each for each, _ in axes)}]" for name, axes in (("A", left), ("B", right)))
    factor = rng.choice(["", "", "", " * 2"])
    update = rng.choice([f"{at} += {a} * {b}{factor}"] * 4 + [f"{at} -= {b} * {a}{factor}", f"{at} = max({at}, {a} - {b})"])
    zero = "0.0" if element[0] == "f" else "0"
    before = rng.choice([[], [f"{at} = {zero}"], [f"{at} = {zero}"], [f"{at} = {names[0]}"], [f"{at} = {at} * 2"]])
    after = rng.choice([[], [], [], [f"{at} = max({at}, {zero})"]])
    order = rng.sample(inner, len(inner))
    body = [f"{'    ' * d}for {name} in range(B.shape[{[each for each, _ in right].index(name)}]):" for d, name in enumerate(order)]
    body.append("    " * len(order) + update)
    around = rng.sample(names, len(names)) if rng.random() < 0.5 else names
    lines = [f"{'    ' * (d + 1)}for {name} in range(C.shape[{element_of.index(name)}]):" for d, name in enumerate(around)]
    lines += ["    " * (len(names) + 1) + line for line in (*before, *body, *after)]
    arguments = (
        Argument("C", element, tuple(extents[name] for name in element_of)),
        Argument("A", element, tuple(extent for _, extent in left)),
        Argument("B", element, tuple(extent for _, extent in right)),
    )
    return "\n".join(["def kernel(C, A, B):", *lines]), arguments


GPU_TEMPLATES = (rows, sums_of_products)
