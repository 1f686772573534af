"""Random functions of which data decide bounds, conditions and subscripts, with arguments."""

from __future__ import annotations

import ast
import random
import re
from collections import Counter
from dataclasses import dataclass

from tests.irregular.arguments import argument_sets
from tests.irregular.array_idioms import ARRAY_IDIOMS
from tests.irregular.idioms import IDIOMS, workspace
from tests.irregular.statements import returned, statement
from tests.irregular.writer import INDENT, OF_ROWS, Parameter, Writer

LONGEST = 45  # lines of a function


@dataclass(frozen=True)
class Program:
    """A Program is the text of a function `kernel` with the arguments of its calls.

    calls: for each call a Python expression for each argument, of which a later one may be the name of an earlier one.
    pieces: which idioms it has. traits: what is odd about its arguments.
    """

    seed: int
    source: str
    names: tuple[str, ...]
    calls: tuple[tuple[str, ...], ...]
    pieces: tuple[str, ...] = ()
    traits: tuple[str, ...] = ()

    @property
    def uses_scipy(self) -> bool:
        """Returns whether arguments are SciPy's sparse matrices."""
        return any("sp." in text for call in self.calls for text in call)


def program(seed: int) -> Program:
    """Returns the program of this number: the same one always."""
    rng = random.Random(f"irregular {seed}")
    while True:
        writer, pieces = Writer(rng), []
        _results(writer)
        if writer.chance(0.2):
            workspace(writer)
        for _ in range(rng.choice((1, 1, 2, 2, 3))):
            form = rng.random()
            made = rng.choice(ARRAY_IDIOMS if form < 0.35 else IDIOMS) if form < 0.75 else statement
            pieces.append(made.__name__)
            made(writer)
        _return(writer)
        if len(writer.lines) <= LONGEST:
            return _finished(writer, seed, tuple(dict.fromkeys(pieces)))


def _results(w: Writer) -> None:
    """Decides what is returned where a return in a loop may come, and writes the scalars that are carried."""
    if w.chance(0.4):
        w.result = w.rng.choice([("whole",), ("real",), ("whole", "real"), ("real", "whole", "whole")])
    if w.chance(0.7):
        name = w.fresh("s", "acc", "total")
        w.emit(f"{name} = {w.pick('0.0', '0.0', '1.0', w.array('real'))}")
        w.know(reals=name)
    if w.chance(0.6):
        name = w.fresh("count", "c", "hits")
        w.emit(f"{name} = {w.pick('0', '0', '1', w.array('whole'))}")
        w.know(wholes=name)


def _return(w: Writer) -> None:
    if w.result:
        w.emit(f"return {returned(w)}")
        return
    values = [*w.scope.reals, *w.scope.wholes, *w.arrays]
    if values and w.chance(0.85):
        w.emit(f"return {', '.join(w.rng.sample(values, min(len(values), w.rng.randint(1, 3))))}")


def _finished(w: Writer, seed: int, pieces: tuple[str, ...]) -> Program:
    """Returns the program with its head: the parameters that it uses, in a random order, and the sizes n and m."""
    words = Counter(re.findall(r"[A-Za-z_]\w*", "\n".join(w.lines)))
    w.lines = [line for line in w.lines if not (match := re.match(r"    (\w+) = [\w.]+$", line)) or words[match[1]] > 1]
    used = set(re.findall(r"[A-Za-z_]\w*", "\n".join(w.lines)))
    parameters = [parameter for name, parameter in w.parameters.items() if name in used and not parameter.is_local]
    head = []
    if "m" in used:
        parameters += [Parameter("col", "columns", "int64")] * ("col" not in used)
        head.append("m = len(col)")
    if "n" in used:
        measured = [p.name for p in parameters if p.kind in OF_ROWS]
        form = w.rng.random()
        if not measured or form < 0.3:
            parameters.append(Parameter("n", "size"))
        else:
            head.append(f"n = {measured[0]}.shape[0]" if form < 0.7 else f"n = len({measured[0]})")
    w.rng.shuffle(parameters)
    head = _assumptions(random.Random(f"assumed {seed}"), parameters, head)
    lines = [f"def kernel({', '.join(p.name for p in parameters)}):", *(INDENT + line for line in head), *w.lines]
    is_linear = not any(re.match(r" {8,}(while|for .*range\((n|m|0, n|1, n|.*size))", line) for line in lines)
    calls, traits = argument_sets(w.rng, parameters, is_linear)
    return Program(seed, "\n".join(lines) + "\n", tuple(p.name for p in parameters), calls, pieces, traits)


def _assumptions(rng: random.Random, parameters: list[Parameter], head: list[str]) -> list[str]:
    """Returns the first lines of a function with what some functions assume of index arrays, which may not hold."""
    sizes = {line.partition(" = ")[0] for line in head} | {p.name for p in parameters if p.kind == "size"}
    conditions = []
    for each in parameters:
        if each.kind == "pointers" and rng.random() < 0.4:
            conditions.append(f"polyml.monotonic({each.name})")
        if each.kind == "rows" and rng.random() < 0.4:
            conditions.append(f"polyml.injective({each.name})")
        if each.kind in ("rows", "columns") and "n" in sizes and rng.random() < 0.2:
            conditions.append(f"polyml.within({each.name}, {rng.choice(('0', '0', '-n'))}, n)")
    joined = [" and ".join(conditions)] if conditions and rng.random() < 0.3 else conditions
    return [*head, *(f"polyml.assume({condition})" for condition in joined)]


def features(source: str) -> set[str]:
    """Returns the names of the constructs that a program has."""
    found, tree = set(), ast.parse(source)
    for node in ast.walk(tree):
        match node:
            case ast.While(test=ast.Constant()):
                found.add("while True")
            case ast.While():
                found |= {"while"} | ({"while on elements"} if _subscripts(node.test) else set())
            case ast.Break() | ast.Continue() | ast.Raise() | ast.Assert():
                found.add(type(node).__name__.lower())
            case ast.For(iter=ast.Call(args=bounds)):
                found |= {"bounds from data"} if any(map(_subscripts, bounds)) else set()
                found |= {"step not 1"} if len(bounds) == 3 else set()
            case ast.If(orelse=[ast.If()]):
                found.add("elif")
            case ast.Subscript(value=ast.Name(), slice=ast.Compare()):
                found.add("mask")
            case ast.Subscript():
                found |= _subscript_features(node)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="polyml"), attr="injective" | "monotonic" | "within" as name)):
                found.add(name)
            case ast.FunctionDef(name=name) if name != "kernel":
                calls = (n.func for n in ast.walk(node) if isinstance(n, ast.Call))
                found |= (
                    {"function inside"} | {"recursion"} if any(ast.unparse(each) == name for each in calls) else {"function inside"}
                )
            case ast.Lambda() | ast.List() | ast.ListComp() | ast.MatMult():
                found.add(type(node).__name__)
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Name(id="np"), attr="sort" | "argsort" | "searchsorted" | "bincount" | "repeat" as name
                )
            ):
                found.add(name)
            case ast.AugAssign(target=ast.Name()):
                found.add("carried scalar")
            case ast.Assign(targets=[ast.Tuple()]):
                found.add("swap")
            case ast.Compare(ops=[_, _, *_]):
                found.add("chained comparison")
            case ast.BoolOp() | ast.IfExp() | ast.Not():
                found.add(type(node).__name__)
            case ast.BinOp(op=ast.FloorDiv() | ast.Mod() | ast.BitAnd() | ast.BitOr() | ast.BitXor() | ast.LShift() | ast.RShift()):
                found.add(type(node.op).__name__)
            case ast.Call(
                func=ast.Name(id="min" | "max" | "abs" | "int" as name) | ast.Attribute(attr="sqrt" | "zeros" | "empty" as name)
            ):
                found.add(name)
        if isinstance(node, (ast.For, ast.While)):
            found |= {f"{type(node).__name__.lower()} else"} if node.orelse else set()
            found |= {"return in a loop"} if any(isinstance(inner, ast.Return) for inner in ast.walk(node)) else set()
            found |= {"loop variable read after"} if _is_read_behind(tree, node) else set()
            found |= (
                {"loops in each other"}
                if any(isinstance(x, (ast.For, ast.While)) for x in ast.walk(node) if x is not node)
                else set()
            )
    return found


def _is_read_behind(tree: ast.Module, loop: ast.For | ast.While) -> bool:
    """Returns whether the variable of a loop is read behind it, outside of all loops that have it."""
    if isinstance(loop, ast.While):
        return False
    name = ast.unparse(loop.target)
    own = [n for n in ast.walk(tree) if isinstance(n, ast.For) and ast.unparse(n.target) == name]
    inside = {id(inner) for n in own for inner in ast.walk(n)}
    reads = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    return any(read.lineno > loop.lineno and id(read) not in inside for read in reads)


def _subscripts(node: ast.AST) -> list[ast.Subscript]:
    """Returns the elements of arrays in an expression; `x.shape[0]` is none."""
    every = (inner for inner in ast.walk(node) if isinstance(inner, ast.Subscript))
    return [inner for inner in every if not isinstance(inner.value, ast.Attribute)]


def _subscript_features(node: ast.Subscript) -> set[str]:
    inner = _subscripts(node.slice)
    if not inner:
        return set()
    found = {"scatter" if isinstance(node.ctx, ast.Store) else "gather"}
    found |= {"nested gather"} if any(_subscripts(one.slice) for one in inner) else set()
    return found | ({"gather in a matrix"} if isinstance(node.slice, ast.Tuple) else set())
