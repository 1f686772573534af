"""Random functions of a few statements, some affine and some not, over arrays, numbers and containers."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

INDENT = "    "
ELEMENTS = ("float64",) * 6 + ("float32", "int64")
LAYOUTS = ("apart",) * 4 + ("one", "same", "reversed", "overlapping", "strided", "fortran")


@dataclass(frozen=True)
class Mixed:
    """source: a module that defines `kernel`. kinds: what the statements are, for the count of what was tried. calls: how often it is
    called, with arguments made anew from `seed`. size: of its arrays. element: their type. layout: how they lie in memory.
    threads: that kernels run on.
    """

    seed: int
    source: str
    kinds: tuple[str, ...]
    calls: int
    size: int
    element: str
    layout: str
    threads: int = 1


def mixed(seed: int) -> Mixed:
    """The program of this number: the same one always."""
    rng = random.Random(f"mixed {seed}")
    writer = _Writer(rng)
    return writer.program(seed)


@dataclass
class _Writer:
    """arrays, numbers, others: the names that have a value wherever the next statement may stand."""

    rng: random.Random
    lines: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    arrays: list[str] = field(default_factory=lambda: ["A", "B"])
    numbers: list[str] = field(default_factory=lambda: ["n", "s"])
    lists: list[str] = field(default_factory=lambda: ["L"])
    functions: list[str] = field(default_factory=list)
    matrices: list[str] = field(default_factory=list)
    side: int = 0  # of them
    count: int = 0
    depth: int = 0
    loops: int = 0  # around
    tries: int = 0

    def program(self, seed: int) -> Mixed:
        rng = self.rng
        self.depth, self.side = 1, rng.choice((5, 12, 33, 64))
        is_method, is_generator = rng.random() < 0.15, rng.random() < 0.06
        is_recursive = not is_generator and not is_method and rng.random() < 0.12
        params = "A, B, L, n, s"
        if is_recursive:
            self.kinds.append("recursion")
            self.emit("if n < 3:")
            self.emit(INDENT + "return A, n")
        self.block(rng.randint(2, 6))
        if is_recursive:
            self.emit("before = kernel(A[: n // 2], B, L, n // 2, s)")
            self.block(rng.randint(1, 2))
        if is_generator:
            self.kinds.append("generator function")
            self.emit(f"yield {self.array()}")
            self.block(rng.randint(1, 3))
            self.emit(f"yield {self.number()}")
        else:
            self.emit(f"return {self.results()}" + (", before" if is_recursive else ""))
        body = [INDENT + line for line in self.lines]
        if is_method:
            self.kinds.append("method")
            lines = ["class Holder:", f"{INDENT}def kernel(self, {params}):", *(INDENT + line for line in body)]
        else:
            lines = [f"def kernel({params}):", *body]
        text = "\n".join(lines) + "\n"
        if is_method:
            text = text.replace("HELD", "self.held").replace("SCALE", "self.scale")
        source, kinds = text.replace("HELD", "B").replace("SCALE", "s"), tuple(dict.fromkeys(self.kinds))
        calls, size = rng.choice((1, 2, 2, 8, 14)), rng.choice((0, 1, 3, 6, 17, 300))
        return Mixed(seed, source, kinds, calls, size, rng.choice(ELEMENTS), rng.choice(LAYOUTS), rng.choice((1, 1, 2)))

    # Text

    def emit(self, line: str) -> None:
        self.lines.append(INDENT * (self.depth - 1) + line)

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def array(self) -> str:
        return self.rng.choice(self.arrays)

    def number(self) -> str:
        return self.rng.choice([*self.numbers, "2", "0.5", "SCALE"])

    def results(self) -> str:
        names = [*self.arrays, *self.numbers, *self.lists, *self.matrices, *self.matrices]
        return ", ".join(self.rng.sample(names, min(len(names), self.rng.randint(1, 6))))

    def block(self, count: int) -> None:
        for _ in range(count):
            self.statement()

    def inside(self, head: str, count: int = 1) -> None:
        """A nested block, whose names are forgotten behind it."""
        self.emit(head)
        kept = self.known()
        self.depth += 1
        self.block(count)
        self.depth -= 1
        self.forget(kept)

    def known(self) -> list[list[str]]:
        return [list(x) for x in (self.arrays, self.numbers, self.lists, self.functions, self.matrices)]

    def forget(self, kept: list[list[str]]) -> None:
        self.arrays, self.numbers, self.lists, self.functions, self.matrices = kept

    def statement(self) -> None:
        deep = self.depth > 3
        choices: list[tuple[int, Callable[[], None]]] = [
            (8, self.loop), (3, self.reused_loop), (4, self.array_expression), (3, self.reduction), (2, self.local_array), (2, self.alias),
            (2, self.view), (2, self.tuple_), (2, self.list_), (2, self.in_place), (1, self.dict_), (1, self.print_), (1, self.assert_),
            (1, self.nested_function), (1, self.called), (1, self.linalg), (1, self.index_arrays), (1, self.masked), (1, self.walrus),
            (1, self.comprehension), (1, self.big_integer), (1, self.none), (1, self.swap), (1, self.scalar), (1, self.import_), (1, self.delete),
            (1, self.numpy_scalar), (1, self.starred), (1, self.string), (1, self.held), (1, self.counter), (1, self.generator),
            (2, self.product), (2, self.sweeps), (2, self.centred_rows), (1, self.large_product), (1, self.chained_nests), (1, self.mirrored),
        ]  # fmt: skip
        if not deep:
            choices += [
                (3, self.while_),
                (2, self.for_break),
                (2, self.try_),
                (2, self.if_data),
                (1, self.for_zip),
                (1, self.with_),
                (2, self.time_loop),
            ]
        weights = [w for w, _ in choices]
        chosen = self.rng.choices([c for _, c in choices], weights)[0]
        self.kinds.append(chosen.__name__.strip("_"))
        chosen()

    # Statements that polyml compiles

    def element(self, index: str) -> str:
        a, b, x = self.array(), self.array(), self.number()
        return self.rng.choice([
            f"{a}[{index}] + {x}", f"{a}[{index}] * 0.5", f"{a}[{index}] - {b}[{index}] * 0.25", f"{x} * 0.5", f"abs({b}[{index}])",
            f"max({a}[{index}], {b}[{index}])", f"{a}[{index}] if {b}[{index}] > 0 else {x}",
        ])  # fmt: skip

    def loop(self, variable: str = "i") -> None:
        target = self.array()
        self.emit(f"for {variable} in range({target}.shape[0]):")
        op = self.rng.choice(["=", "=", "+="])
        self.emit(f"{INDENT}if {variable} < min({', '.join(f'{a}.shape[0]' for a in self.arrays + self.arrays[:1])}):")
        self.emit(f"{INDENT * 2}{target}[{variable}] {op} {self.element(variable)}")

    def reused_loop(self) -> None:
        self.loop(self.rng.choice("ij"))
        self.loop(self.rng.choice("ij"))

    def array_expression(self) -> None:
        a, x = self.array(), self.number()
        name = self.fresh("T")
        self.emit(f"{name} = {a} * 0.5 + {x}")
        self.arrays.append(name)

    def reduction(self) -> None:
        a, name = self.array(), self.fresh("r")
        form = self.rng.choice(["sum", "loop"])
        if form == "sum":
            self.emit(f"{name} = {a}.sum()")
        else:
            self.emit(f"{name} = 0.0")
            self.emit(f"for k in range({a}.shape[0]):")
            self.emit(f"{INDENT}{name} += {a}[k]")
        self.numbers.append(name)

    def local_array(self) -> None:
        name, like = self.fresh("Z"), self.array()
        self.emit(f"{name} = np.{self.rng.choice(['zeros', 'ones'])}({like}.shape[0])")
        self.arrays.append(name)

    def alias(self) -> None:
        name = self.fresh("C")
        self.emit(f"{name} = {self.array()}")
        self.arrays.append(name)

    def in_place(self) -> None:
        self.emit(f"{self.array()} {self.rng.choice(['*=', '+='])} {self.rng.choice(['0.5', '1.0'])}")

    def swap(self) -> None:
        a, b = self.array(), self.array()
        self.emit(f"{a}, {b} = {b}, {a}")

    def scalar(self) -> None:
        name = self.fresh("x")
        self.emit(f"{name} = {self.number()} * 0.5")
        self.numbers.append(name)

    def time_loop(self) -> None:
        self.inside(f"for {self.fresh('t')} in range({self.rng.randint(1, 4)}):", self.rng.randint(1, 2))

    def held(self) -> None:
        a = self.array()
        self.emit(f"for h in range(min({a}.shape[0], HELD.shape[0])):")
        self.emit(f"{INDENT}{a}[h] = {a}[h] * 0.5 + HELD[h] * SCALE")

    def matrix(self) -> str:
        """One of the square matrices, whose loops a schedule tiles, skews, fuses and splits."""
        if self.matrices and self.rng.random() < 0.7:
            return self.rng.choice(self.matrices)
        name = self.fresh("Q")
        self.emit(f"{name} = np.zeros(({self.side}, {self.side}))")
        self.over("ij", [f"{name}[i, j] = (i * {self.rng.randint(1, 5)} + j * {self.rng.randint(1, 5)}) % 7 - 3.0"])
        self.matrices.append(name)
        return name

    def over(self, variables: str, body: list[str], first: int = 0) -> None:
        """A nest of loops over all elements but `first` at each side."""
        for depth, variable in enumerate(variables):
            self.emit(f"{INDENT * depth}for {variable} in range({first}, {self.side - first}):")
        for line in body:
            self.emit(INDENT * len(variables) + line)

    def product(self) -> None:
        a, b, name = self.matrix(), self.matrix(), self.fresh("Q")
        self.emit(f"{name} = np.zeros(({self.side}, {self.side}))")
        self.over("ijk", [f"{name}[i, j] += {a}[i, k] * {b}[k, j] * 0.01"])
        self.matrices.append(name)

    def sweeps(self) -> None:
        """A stencil in place over time, which tiles only where it is skewed, or one from one matrix to another."""
        a, t = self.matrix(), self.fresh("t")
        self.emit(f"for {t} in range({self.rng.randint(2, 6)}):")
        self.depth += 1
        if self.rng.random() < 0.5:
            self.over("ij", [f"{a}[i, j] = ({a}[i - 1, j] + {a}[i, j - 1] + {a}[i, j] + {a}[i + 1, j] + {a}[i, j + 1]) * 0.2"], 1)
        else:
            self.over("i", [f"{a}[i, 0] = ({a}[i - 1, 0] + {a}[i, 0] + {a}[i + 1, 0]) * 0.3"], 1)
        self.depth -= 1

    def centred_rows(self) -> None:
        """A scalar that each iteration of a loop sets anew and another loop inside uses."""
        a, name, total = self.matrix(), self.fresh("Q"), self.fresh("r")
        self.emit(f"{name} = np.zeros(({self.side}, {self.side}))")
        self.emit(f"for i in range({self.side}):")
        self.emit(f"{INDENT}{total} = 0.0")
        self.emit(f"{INDENT}for j in range({self.side}):")
        self.emit(f"{INDENT * 2}{total} += {a}[{self.rng.choice(['i, j', 'j, i'])}]")
        self.emit(f"{INDENT}for j in range({self.side}):")
        self.emit(f"{INDENT * 2}{name}[i, j] = {a}[i, j] - {total} * 0.01")
        self.matrices.append(name)

    def large_product(self) -> None:
        """Large enough that operands are copied."""
        a, name = self.fresh("G"), self.fresh("G")
        self.emit(f"{a} = np.zeros((288, 288)) + 0.25")
        self.emit(f"{a}[:{self.rng.randint(2, 280)}] *= 2.0")
        self.emit(f"{name} = {a} @ {a}{self.rng.choice(['', '.T'])} * 0.01")
        self.lists.append(name)

    def chained_nests(self) -> None:
        """Two nests, the second of what the first makes."""
        a, one, other = self.matrix(), self.fresh("Q"), self.fresh("Q")
        for name in (one, other):
            self.emit(f"{name} = np.zeros(({self.side}, {self.side}))")
        self.over("ij", [f"{one}[i, j] = {a}[{self.rng.choice(['i, j', 'j, i'])}] * 0.5 + 1.0"])
        self.over("ij", [f"{other}[i, j] = {one}[i, j] - {a}[i, j]"])
        self.matrices += [one, other]

    def mirrored(self) -> None:
        """A loop of which each half reads what the other writes."""
        a = self.matrix()
        self.over("ij", [f"{a}[i, j] = {a}[{self.side - 1} - i, j] * 0.5 + {a}[i, j] * 0.25"])

    # Statements that Python runs

    def view(self) -> None:
        name = self.fresh("V")
        self.emit(f"{name} = {self.array()}[{self.rng.choice(['1:', ':-1', '::2', '::-1', ':'])}]")
        self.arrays.append(name)

    def tuple_(self) -> None:
        name, a = self.fresh("q"), self.array()
        self.emit(f"{name} = ({a}, {self.number()}, {a})")
        self.lists.append(name)

    def list_(self) -> None:
        name = self.rng.choice(self.lists[:1])
        self.emit(
            self.rng.choice(
                [f"{name}.append({self.number()})", f"{name} = {name} + [1.5]", f"{name}[0] = {self.number()}", f"{name} += [2]"]
            )
        )

    def dict_(self) -> None:
        name = self.fresh("d")
        self.emit(f"{name} = {{'a': {self.array()}, 'n': {self.number()}}}")
        self.emit(f"{name}['n'] = {self.number()}")
        self.lists.append(name)

    def print_(self) -> None:
        self.emit(f"print({self.number()})")

    def assert_(self) -> None:
        self.emit(f"assert {self.array()}.{self.rng.choice(['ndim == 1', 'ndim == 1', 'shape[0] > 2'])}, 'rank'")

    def while_(self) -> None:
        name = self.fresh("w")
        self.emit(f"{name} = 0")
        form = self.rng.random()
        if form < 0.3:
            self.emit(f"while {name} < len({self.lists[0]}):")
            self.emit(f"{INDENT}{self.lists[0]}[{name}] = {self.lists[0]}[{name}] + 1.0")
            self.emit(f"{INDENT}{name} += 1")
            return
        self.inside(f"while {name} < {self.rng.randint(1, 6)}:", self.rng.randint(1, 3))
        self.emit(f"{INDENT}{name} += 1")
        if form > 0.8:
            self.emit(f"{INDENT}if {name} > 2:")
            self.emit(f"{INDENT * 2}break")

    def for_break(self) -> None:
        name = self.fresh("b")
        self.inside(f"for {name} in range(5):", self.rng.randint(1, 2))
        self.emit(f"{INDENT}if {name} == {self.rng.randint(0, 4)}:")
        self.emit(f"{INDENT * 2}{self.rng.choice(['break', 'continue'])}")
        if self.rng.random() < 0.4:
            self.inside("else:", 1)

    def for_zip(self) -> None:
        a, name = self.array(), self.fresh("z")
        self.emit(f"{name} = 0.0")
        b = self.array()
        head, value = self.rng.choice(
            [
                (f"for u, v in zip({a}, {b}):", "u * v"),
                (f"for k, u in enumerate({a}):", f"u * k - {b}[k]"),
                (f"for k, (u, v) in enumerate(zip({a}, {b}), 2):", "u * v - k"),
                (f"for u in reversed({a}):", f"{name} * 0.25 - u"),
                (f"for k in reversed(range(1, {a}.shape[0], 2)):", f"{name} * 0.25 - {a}[k]"),
                (f"for u, v in zip({a}[1:], reversed({b})):", "u - v"),
                ("for w, k in ((0.5, 0), (-2.0, 1)):", f"w * {a}[k]"),
                (f"for u in [{a}, {b}]:", "u[0]"),
            ]
        )
        self.emit(head)
        self.emit(f"{INDENT}{name} = {name} + {value}")
        if self.rng.random() < 0.3:  # an inner loop takes the name of the outer one, which the next iteration between them may read
            between = self.rng.random() < 0.5
            self.emit("for k in range(2):")
            self.emit(f"{INDENT}for j in range(2):" if between else f"{INDENT}if True:")
            self.emit(f"{INDENT * 2}{a}[{self.rng.choice(['k', '0'])}] += 0.5")
            self.emit(f"{INDENT * 2}for k in range(3):")
            self.emit(f"{INDENT * 3}{b}[k] -= 0.25")
        if self.rng.random() < 0.5:
            whole = [
                f"max({a})",
                f"min({a}[1:]) - max({b} * 2)",
                f"any(u > 1 for u in {a})",
                f"all({a} > {b}[0])",
                f"any([u < v for u, v in zip({a}, {b})])",
            ]
            self.emit(f"{name} = {name} + {self.rng.choice(whole)}")
        self.numbers.append(name)

    def try_(self) -> None:
        name = self.fresh("e")
        self.emit(f"{name} = 0")
        self.emit("try:")
        self.depth += 1
        kept = self.known()
        self.block(self.rng.randint(1, 2))
        self.emit(self.rng.choice([f"{self.array()}[10**6] = 1.0", f"{name} = 1 // 0", "raise ValueError('no')", f"{name} = 1"]))
        self.forget(kept)
        self.depth -= 1
        self.emit("except (IndexError, ZeroDivisionError, ValueError) as problem:")
        self.emit(f"{INDENT}{name} = type(problem).__name__")
        if self.rng.random() < 0.4:
            self.inside("finally:", 1)
        self.lists.append(name)

    def with_(self) -> None:
        self.inside("with np.errstate(all='ignore'):", 1)

    def if_data(self) -> None:
        a = self.array()
        self.inside(f"if {a}.size and {a}.max() > {self.rng.choice(['0', '1', '100'])}:", self.rng.randint(1, 2))
        if self.rng.random() < 0.5:
            self.inside("else:", 1)

    def nested_function(self) -> None:
        name, seen = self.fresh("f"), self.number()
        self.emit(f"def {name}(v):")
        if seen in self.numbers and seen not in ("n", "s") and self.rng.random() < 0.4:
            self.emit(f"{INDENT}nonlocal {seen}")
            self.emit(f"{INDENT}{seen} = {seen} + 1")
        self.emit(f"{INDENT}return v * 0.5 + {seen}")
        self.functions.append(name)

    def called(self) -> None:
        if not self.functions:
            return self.nested_function()
        f, name = self.rng.choice(self.functions), self.fresh("y")
        self.emit(self.rng.choice([f"{name} = {f}({self.number()})", f"{name} = {f}({self.array()})[:1].sum()"]))
        self.numbers.append(name)

    def linalg(self) -> None:
        name = self.fresh("g")
        self.emit(f"{name} = np.linalg.norm(np.outer({self.array()}, {self.array()}) + 1.0)")
        self.numbers.append(name)

    def index_arrays(self) -> None:
        a, name = self.array(), self.fresh("t")
        self.emit(self.rng.choice([f"{name} = np.nonzero({a} > 0)", f"{name} = (np.arange({a}.shape[0])[::2],)"]))
        self.emit(f"{a}[{name}] = {self.number()}")
        self.lists.append(name)

    def masked(self) -> None:
        a, name = self.array(), self.fresh("M")
        self.emit(f"{name} = {a}[{a} > 0]")
        self.arrays.append(name)

    def walrus(self) -> None:
        name = self.fresh("k")
        self.emit(f"if ({name} := {self.array()}.shape[0]) > 2:")
        self.emit(f"{INDENT}{self.array()}[0:1] = 0.25")
        self.numbers.append(name)

    def comprehension(self) -> None:
        name = self.fresh("c")
        self.emit(f"{name} = [v * 2 for v in {self.array()}[:4]]")
        self.lists.append(name)

    def generator(self) -> None:
        name, kept = self.fresh("o"), self.number()
        self.emit(f"{name} = (v + {kept} for v in range(3))")
        self.block(1)
        self.emit(f"{name} = sum({name})")
        self.numbers.append(name)

    def big_integer(self) -> None:
        """Made in a list, which Python runs: compiled arithmetic that leaves 64 bits is refused, as README says."""
        name = self.fresh("p")
        self.emit(f"{name} = [3 ** {self.rng.choice(['39', '40', '70'])}][0]")
        if self.rng.random() < 0.5:
            self.emit(f"{name} = [{name} % 1000003][0]")
        self.numbers.append(name)

    def none(self) -> None:
        name = self.fresh("u")
        self.emit(f"{name} = None if {self.array()}.shape[0] > 3 else {self.array()}")
        self.lists.append(name)

    def import_(self) -> None:
        name = self.fresh("m")
        self.emit("import math as maths")
        self.emit(f"{name} = maths.sqrt(2.0)")
        self.numbers.append(name)

    def delete(self) -> None:
        name = self.fresh("gone")
        self.emit(f"{name} = {self.array()} * 2.0")
        self.emit(f"del {name}")

    def numpy_scalar(self) -> None:
        name = self.fresh("ns")
        self.emit(f"{name} = np.{self.rng.choice(['float32(1.5)', 'int64(3)', 'bool_(True)', 'float64(0.25)'])}")
        self.numbers.append(name)

    def starred(self) -> None:
        name = self.fresh("h")
        self.emit(f"{name}, *rest = {self.rng.choice(['(1.5, 2, 3)', 'np.arange(3.0)'])}")
        self.numbers.append(name)

    def string(self) -> None:
        name = self.fresh("w")
        self.emit(f"{name} = f'{{n}} {self.fresh('text')}'")
        self.lists.append(name)

    def counter(self) -> None:
        self.emit("COUNTS[0] = COUNTS[0] + 1")
