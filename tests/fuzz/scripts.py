"""Random scripts of schedules: each step is refused, or the kernel still computes the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from polyml.errors import IllegalSchedule, PolymlError, ScheduleError
from polyml.polyhedra import parameter_names
from polyml.schedule.script import transforms
from polyml.schedule.script.schedule import Schedule
from polyml.schedule.tree.loop_tree import Block, loops, statements

STEPS = 8


@dataclass
class Script:
    """A schedule after random steps. taken, refused: the steps as text, the latter each with its error."""

    schedule: Schedule
    taken: list[str] = field(default_factory=list)
    refused: list[tuple[str, PolymlError]] = field(default_factory=list)

    def try_step(self, name: str, *args: object, **named: object) -> None:
        words = [*map(repr, args), *(f"{key}={value!r}" for key, value in named.items())]
        text = f"{name}({', '.join(words)})"
        try:
            self.schedule = getattr(self.schedule, name)(*args, **named)
            self.taken.append(text)
        except (IllegalSchedule, ScheduleError) as error:
            self.refused.append((text, error))


def random_script(schedule: Schedule, rng: Random, steps: int = STEPS) -> Script:
    """Most steps change the order, the last ones ask loops for something."""
    script = Script(schedule)
    for step in range(steps):
        names = transforms.addresses(script.schedule.loops)
        if not names:
            break
        early = step < steps // 2 or rng.random() < 0.2
        asked = _ASKED_OF_GPUS if schedule.problem.on_gpu else _ASKED
        rng.choice(_ORDER if early else asked)(script, rng, names)
    return script


def _nested(script: Script, rng: Random, names: list[str]) -> list[str]:
    """A loop and perhaps those directly inside it."""
    tree = script.schedule.loops
    path, _ = transforms.find(tree, rng.choice(names))
    found = []
    for inner, loop in loops(tree):
        if inner[: len(path)] == path and not any(inner[len(path) :]) and len(inner) - len(path) == len(found):
            found.append(names[[p for p, _ in loops(tree)].index(inner)])
    return found[: rng.randint(1, 3)]


def _tile(script: Script, rng: Random, names: list[str]) -> None:
    script.try_step("tile", {name: rng.choice((1, 2, 3, 4, 7, 16)) for name in _nested(script, rng, names)})


def _interchange(script: Script, rng: Random, names: list[str]) -> None:
    chain = _nested(script, rng, names)
    script.try_step("interchange", chain[0], chain[-1] if len(chain) > 1 else rng.choice(names))


def _fuse(script: Script, rng: Random, names: list[str]) -> None:
    places = [path for path, _ in loops(script.schedule.loops)]
    near = [(k, places.index(after)) for k, p in enumerate(places) if p and (after := (*p[:-1], p[-1] + 1)) in places]
    first, second = rng.choice(near) if near else rng.choices(range(len(names)), k=2)
    script.try_step("fuse", names[first], names[second])


def _distribute(script: Script, rng: Random, names: list[str]) -> None:
    several = [name for name, (_, loop) in zip(names, loops(script.schedule.loops)) if isinstance(loop.body, Block)]
    script.try_step("distribute", rng.choice(several or names))


def _skew(script: Script, rng: Random, names: list[str]) -> None:
    chain = _nested(script, rng, names)
    script.try_step("skew", chain[-1], chain[0] if len(chain) > 1 else rng.choice(names), rng.choice((-1, 1, 2)))


def _shift(script: Script, rng: Random, names: list[str]) -> None:
    name = rng.choice(names)
    inside = statements(transforms.find(script.schedule.loops, name)[1])
    script.try_step("shift", name, **{rng.choice(inside): rng.randint(-2, 2)})


def _reverse(script: Script, rng: Random, names: list[str]) -> None:
    script.try_step("reverse", rng.choice(names))


def _split(script: Script, rng: Random, names: list[str]) -> None:
    sizes = parameter_names(script.schedule.problem.scop.domain)
    script.try_step("split", rng.choice(names), rng.choice([1, 2, 4, *(f"{size} - 2" for size in sizes)]))


def _parallel(script: Script, rng: Random, names: list[str]) -> None:
    script.try_step("parallel", rng.choice(names))


def _vectorize(script: Script, rng: Random, names: list[str]) -> None:
    script.try_step("vectorize", rng.choice(names))


def _unroll_jam(script: Script, rng: Random, names: list[str]) -> None:
    script.try_step("unroll_jam", rng.choice(names), rng.randint(2, 4))


def _pack(script: Script, rng: Random, names: list[str]) -> None:
    name, known = rng.choice(names), script.schedule.problem.scop.statements
    inside = statements(transforms.find(script.schedule.loops, name)[1])
    arrays = sorted({a.array for s in inside for a in known[s].reads if a.subscripts})
    script.try_step("pack", rng.choice(arrays or ["A"]), name)


def _isolate(script: Script, rng: Random, names: list[str]) -> None:
    tiles = [name for name in names if "_t" in name]
    script.try_step("isolate", rng.choice(tiles or names))


def _plain(script: Script, rng: Random, names: list[str]) -> None:
    script.try_step("plain", rng.choice(names))


def _grid(script: Script, rng: Random, names: list[str]) -> None:
    chain = _nested(script, rng, names)
    script.try_step("grid", *rng.sample(chain, rng.randint(1, len(chain))))


def _block(script: Script, rng: Random, names: list[str]) -> None:
    script.try_step("block", *(rng.choice((1, 2, 3, 4, 8)) for _ in range(rng.randint(1, 3))))


def _items(script: Script, rng: Random, names: list[str]) -> None:
    counts = [rng.randint(1, 4) for _ in range(rng.randint(1, 2))]
    script.try_step("items", *counts, adjacent=rng.random() < 0.5)


def _host(script: Script, rng: Random, names: list[str]) -> None:
    script.try_step("host", rng.choice(names))


def _shared(script: Script, rng: Random, names: list[str]) -> None:
    name, known = rng.choice(names), script.schedule.problem.scop.statements
    inside = statements(transforms.find(script.schedule.loops, name)[1])
    arrays = sorted({a.array for s in inside for a in known[s].reads if a.subscripts})
    script.try_step("shared", rng.choice(arrays or ["A"]), at=name)


_Step = Callable[[Script, Random, list[str]], None]
_ORDER: tuple[_Step, ...] = (_tile, _tile, _interchange, _fuse, _distribute, _skew, _shift, _reverse, _split)
_ASKED: tuple[_Step, ...] = (_parallel, _vectorize, _vectorize, _unroll_jam, _unroll_jam, _pack, _pack, _isolate, _plain)
_ASKED_OF_GPUS: tuple[_Step, ...] = (_grid, _grid, _grid, _block, _block, _items, _items, _host, _shared, _plain)
