"""What every order of a kernel must keep of its source order, from a trace of the language's interpreter.

Per element, everything that happens to it in turn: a write, the reads until the next write, or the updates of one
reduction until something else. Reads between two writes may change places, and so may updates of one reduction.
"""

from collections import Counter

from polyml.codegen.interpreter.order import walk
from tests.model.modelling import events, line_names, sizes_of


class History:
    """The order of things in one call of a kernel.

    sizes: of its parameters. steps: ((statement, point), elements read, element written) in source order.
    reductions: statements that update an element in any order.
    """

    def __init__(self, sizes, steps, reductions=()):
        self.sizes = sizes
        self._cells = {(name, point): (reads, write, name in reductions) for (name, point), reads, write in steps}
        order = [instance for instance, _, _ in steps]
        self.instances = Counter(order)
        self._wanted = self._of((instance, "") for instance in order)

    @staticmethod
    def of(function, scop, args, reductions=()):
        """From a trace of the function, which has one statement per line."""
        names = {line: name for name, line in line_names(scop).items()}
        assert len(names) == len(scop.statements), "a line does not tell which statement it is"
        steps = [((names[line], point), reads, write) for (line, point), reads, write in events(function, args)]
        return History(sizes_of(scop, args), steps, reductions)

    def _of(self, order):
        """element -> [(what happens, Counter of instances)]. order: pairs of an instance and which part of it runs, "reads", "writes"
        or "" for all."""
        found = {}
        for instance, part in order:
            reads, write, updates = self._cells[instance]
            updates = updates and write in reads
            for cell in set(reads) if part != "writes" else ():
                if not (updates and cell == write):
                    _append(found.setdefault(cell, []), "read", instance)
            if part != "reads":
                _append(found.setdefault(write, []), instance[0] if updates else None, instance)
        return found

    def check(self, program, **order):
        """The program runs the same instances, each once, and every element sees the same in turn."""
        ran: list = []

        def together(name, points):
            ran.extend(((name, point), part) for part in ("reads", "writes") for point in points)

        walk(program, self.sizes, lambda name, point: ran.append(((name, point), "")), together=together, **order)
        assert Counter(instance for instance, part in ran if part != "reads") == self.instances
        assert self._of(ran) == self._wanted


def _append(events_, kind, instance):
    """kind None: a plain write, which stands alone."""
    if kind is None or not events_ or events_[-1][0] != kind:
        events_.append((kind, Counter()))
    events_[-1][1][instance] += 1
