"""The dependences of a SCoP by brute force: all pairs of instances that touch one element, of which one writes it, for given sizes."""

import re
from collections.abc import Iterator

from polyml.polyhedra.points import points


class Instances:
    """All instances of a SCoP for some sizes, with the elements that each touches and its time in the source's order."""

    def __init__(self, scop, sizes):
        self.scop = scop
        self.times = {
            instance: time for instance, (_, time) in points(scop.schedule.get_map().intersect_domain(scop.domain), **sizes)
        }
        self.touched: dict = {}  # element -> [(instance, whether it writes)]
        for statement in scop.statements.values():
            for writes, accesses in ((False, statement.reads), (True, (statement.write,))):
                for access in accesses:
                    for instance, element in points(access.relation.intersect_domain(statement.domain), **sizes):
                        self.touched.setdefault(element, []).append((instance, writes))

    def dependences(self) -> set:
        """Returns all pairs (source, sink) of instances that touch an element which one of them writes."""
        found = set()
        for users in self.touched.values():
            for one, writes in users:
                for other, also in users:
                    if (writes or also) and self.times[one] < self.times[other]:
                        found.add((one, other))
        return found


def carried(pairs, loop, loops) -> set:
    """Returns those of the pairs that a loop of the source carries: in one iteration of the loops around it, in different ones of its
    own.
    """
    around = [each for each in loops if each.path != loop.path and loop.path[: len(each.path)] == each.path]
    return {
        (source, sink)
        for source, sink in pairs
        if source[0] in loop.positions
        and sink[0] in loop.positions
        and all(_value(source, each) == _value(sink, each) for each in around)
        and _value(source, loop) != _value(sink, loop)
    }


def _value(instance, loop) -> int:
    return instance[1][loop.positions[instance[0]]]


def in_lanes(text: str) -> Iterator[tuple[str, int, int, str]]:
    """Yields (statement, lanes, vectors, variable) for each instance in a Program's text that runs in lanes.

    A statement's name stands behind `#`; lanes are those of the `together` lines around it.
    """
    around: list[tuple[int, str, int, int]] = []
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip())
        around = [each for each in around if each[0] < depth]
        if found := re.match(r"\s*together (\w+) = .*\((\d+) vectors? of (\d+)\)", line):
            around.append((depth, found[1], int(found[3]), int(found[2])))
        elif (found := re.search(r"  # (\w+)$", line)) and "=" in line and not line.lstrip().startswith(("for ", "if ")):
            for _, variable, lanes, vectors in around:
                yield found[1], lanes, vectors, variable


def in_one_loop(text: str) -> Iterator[tuple[set[str], bool]]:
    """Yields, for each `for` line of a Program's text, the statements in it and whether it goes over tiles."""
    around: list[tuple[int, set[str], bool]] = []
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip())
        while around and around[-1][0] >= depth:
            _, names, is_tile = around.pop()
            yield names, is_tile
        if line.lstrip().startswith("for "):
            around.append((depth, set(), "# tile" in line))
        elif found := re.search(r"  # (\w+)$", line):
            for _, names, _ in around:
                names.add(found[1].partition("_from_")[0].partition("_of_")[0])
    yield from ((names, is_tile) for _, names, is_tile in around)
