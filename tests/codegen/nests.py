"""Random small nests of loops, and all that they touch, enumerated one iteration at a time."""

from dataclasses import dataclass
from math import floor

from hypothesis import strategies as st

from polyml.codegen.analysis.access_conflicts import ConflictTest
from polyml.codegen.analysis.loop_nest import LoopNest
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Guard, Instance, Loop, Program, with_body
from polyml.dtypes import I64
from polyml.frontend.syntax import ArrayType
from polyml.model.core.call_interface import Parameter
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Role
from polyml.quasi_affine.affine import Affine, Compare, variable
from tests.codegen import handmade
from tests.codegen.handmade import load

N = variable("N")
SIZES = (0, 1, 2, 3, 5)
ARRAYS = {"A": 2, "B": 1}  # dimensions


@dataclass(frozen=True)
class Text:
    """One statement: the array and the subscripts it writes and reads, as text that isl and Python both read."""

    name: str
    iterators: tuple[str, ...]
    write: tuple[str, list[str]]
    reads: list[tuple[str, list[str]]]

    def statement(self):
        value = load(0, I64)
        return handmade.statement(["N"], self.name, f"[{', '.join(self.iterators)}]", self.write, self.reads, value)

    def places(self, point, size):
        """Per access, reads before the write, the element it names at a point."""
        names = {"N": size, "floor": floor, **dict(zip(self.iterators, point))}
        return [(array, tuple(eval(t, names) for t in texts)) for array, texts in (*self.reads, self.write)]


@dataclass(frozen=True)
class Sample:
    """A nest of the statements, and the program it stands in."""

    texts: dict[str, Text]
    program: Program
    nest: LoopNest

    def __repr__(self):
        parts = [f"shared {self.nest.shared}", f"chain {self.nest.chain}", f"body {self.nest.body}"]
        return "\n".join([*parts, *map(str, self.texts.values()), f"reductions {self.program.reductions}"])


def terms(names, constants=st.integers(-2, 2)):
    """c0 + c1 * name + ... as (text, Affine)."""

    def made(parts):
        constant, chosen = parts
        total, text = Affine(constant), str(constant)
        for name, factor in chosen.items():
            total, text = total + variable(name) * factor, f"{text} + {factor}*{name}"
        return text, total

    factors = st.dictionaries(st.sampled_from(names), st.sampled_from((-2, -1, 1, 1, 2)), max_size=2)
    return st.tuples(constants, factors if names else st.just({})).map(made)


@st.composite
def loop_bounds(draw, outer):
    """(lower, upper, step): short for the sizes that are tried."""
    low = [Affine(draw(st.integers(0, 1)))]
    high = [draw(st.sampled_from((N - 1, Affine(2), N - 2)))]
    if outer:
        around = variable(draw(st.sampled_from(outer)))
        low += draw(st.sampled_from(([], [], [around], [around - 1], [around - N + 1])))
        high += draw(st.sampled_from(([], [], [around], [around + 1], [around * -1 + N])))
    return tuple(low), tuple(high), draw(st.sampled_from((1, 1, 1, 2)))


@st.composite
def accesses(draw, iterators):
    array = draw(st.sampled_from(sorted(ARRAYS)))
    texts = []
    for _ in range(ARRAYS[array]):
        text, _ = draw(terms([*iterators, "N"] if draw(st.booleans()) else list(iterators)))
        texts.append(f"floor(({text})/2)" if draw(st.integers(0, 9)) == 0 else text)
    return array, texts


@st.composite
def samples(draw):
    """A chain of one to three loops, perhaps in a loop and under a guard, around one or two instances."""
    shared, names = [], []
    if draw(st.booleans()):
        low, high, step = draw(loop_bounds([]))
        shared.append(Loop("s", low, high, step, ()))
        names.append("s")
    if draw(st.integers(0, 3)) == 0:
        shared.append(Guard(Compare(">=", draw(terms([*names, "N"]))[1]), ()))
    chain = []
    for name in "abc"[: draw(st.integers(1, 3))]:
        chain.append(Loop(name, *draw(loop_bounds(names)), ()))
        names.append(name)
    statements, body, reductions = [], [], {}
    for name in "ST"[: draw(st.integers(1, 2))]:
        inside = [Loop(f"k{name}", *draw(loop_bounds(names)), ())] if draw(st.integers(0, 3)) == 0 else []
        loop_names = [*names, *(loop.var for loop in inside)]
        iterators = [f"i{n}" for n in range(len(loop_names))]
        write, reads = draw(accesses(iterators)), draw(st.lists(accesses(iterators), max_size=2))
        if draw(st.integers(0, 2)) == 0:
            reads.insert(0, write)
            reductions[name] = Reduction(name, write[0], "+", 0)
        statements.append(Text(name, tuple(iterators), write, reads))
        point = tuple(variable(n) + draw(st.sampled_from((0, 0, 1))) for n in draw(st.permutations(loop_names)))
        node = Instance(name, point)
        for loop in inside:
            node = Loop(loop.var, loop.lower, loop.upper, loop.step, (node,))
        body.append(node)
    return sample(statements, shared, chain, body, reductions)


def sample(texts, shared, chain, body, reductions=None):
    arrays = {n: (Role.ARGUMENT, I64, ["N"] * d) for n, d in ARRAYS.items()}
    types = [ArrayType(I64, d) for d in ARRAYS.values()]
    statements = [text.statement() for text in texts]
    scop = handmade.scop(
        {"N": Parameter("N", "A", 0)}, arrays, statements, '{ domain: "{ S[] }" }', params=list(ARRAYS), types=types
    )
    program = Program(scop, (), reductions or {})
    tests = ConflictTest(scop, AccessTable(scop.context))
    nest = LoopNest(program, tests, tuple(shared), tuple(chain), tuple(body))
    return Sample({text.name: text for text in texts}, program, nest)


def environments(nodes, env):
    """All values of the loops in `nodes`, in one another, where the guards among them hold."""
    if not nodes:
        yield env
        return
    first, *rest = nodes
    if isinstance(first, Guard):
        if first.condition.evaluate(env):
            yield from environments(rest, env)
        return
    low, high = max(e.evaluate(env) for e in first.lower), min(e.evaluate(env) for e in first.upper)
    for value in range(low, high + 1, first.step):
        yield from environments(rest, {**env, first.var: value})


@dataclass(frozen=True)
class Touched:
    """One access of one iteration. place: (array, subscripts). which: which access of the nest it is."""

    iteration: tuple[int, ...]
    place: tuple
    which: int
    writes: bool
    accumulates: str  # the instance whose accumulator it is, or ""


def touched(sample, size, around=None):
    """Per iteration of what stands around the nest (or for one of them): everything its iterations touch."""
    nest = sample.nest
    for around in environments(nest.shared, {"N": size}) if around is None else [around]:
        found = []
        for env in environments(nest.chain, around):
            iteration = tuple(env[loop.var] for loop in nest.chain)
            which = 0
            for node in nest.body:
                loops = []
                while isinstance(node, Loop):
                    loops.append(node)
                    (node,) = node.body
                text = sample.texts[node.statement]
                reduction = sample.program.reductions.get(node.statement)
                for inner in environments(loops, env):
                    point = [e.evaluate(inner) for e in node.point]
                    for k, place in enumerate(text.places(point, size)):
                        writes = k == len(text.reads)
                        mine = reduction is not None and (writes or k == reduction.access)
                        found.append(Touched(iteration, place, which + k, writes, node.statement if mine else ""))
                which += len(text.reads) + 1
        yield found


def meetings(found):
    """Pairs of touches of one place of which at least one writes."""
    by_place = {}
    for touch in found:
        by_place.setdefault(touch.place, []).append(touch)
    for touches in by_place.values():
        for i, a in enumerate(touches):
            for b in touches[i:]:
                if a.writes or b.writes:
                    yield a, b


def steps(sample, size):
    """((statement, point), places read, place written) of every instance that runs, in order."""
    found = []
    for env in environments([*sample.nest.shared, *sample.nest.chain], {"N": size}):
        for node in sample.nest.body:
            loops = []
            while isinstance(node, Loop):
                loops.append(node)
                (node,) = node.body
            for inner in environments(loops, env):
                point = tuple(e.evaluate(inner) for e in node.point)
                *reads, write = sample.texts[node.statement].places(point, size)
                found.append(((node.statement, point), tuple(reads), write))
    return found


def whole(sample):
    """The program of everything around the nest, and the nest."""
    body = sample.nest.body
    for node in reversed((*sample.nest.shared, *sample.nest.chain)):
        body = (with_body(node, body),)
    return Program(sample.program.scop, body, sample.program.reductions)
