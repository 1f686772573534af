"""What threads do in which order, in plain Python: loops as `codegen.interpreter.order` runs them, with the shares of parallel ones apart."""

from itertools import chain, zip_longest

from polyml.codegen.interpreter.order import _Walk, evaluate, tuple_code
from polyml.codegen.ir.accesses import AccessTable, reads_and_write
from polyml.codegen.ir.program import loops
from polyml.codegen.llvm import emit
from polyml.codegen.llvm.outline import is_uneven
from polyml.quasi_affine.affine import variable


class _Team(_Walk):
    """regions: between barriers, what each thread runs: (statement, point, the variables around)."""

    def __init__(self, program, threads):
        super().__init__(None, None, "source", 0, program)
        self.program, self.count = program, threads
        self.regions, self.current, self.is_alone = [[[] for _ in range(threads)]], 0, True

    def barrier(self):
        self.regions.append([[] for _ in range(self.count)])

    def _instance(self, node):
        point = tuple_code(node.point)

        def execute(envs):
            self.regions[-1][self.current] += [(node.statement, evaluate(point, env), env) for env in envs]

        return execute

    def _loop(self, node, lanes=0):
        one, body = super()._loop(node, lanes), self.block(node.body, lanes)
        if not node.parallel or node.partial or self.count == 1:
            return one
        lower, upper = tuple_code(node.lower), tuple_code(node.upper)

        def execute(envs):
            if not self.is_alone:
                one(envs)
                return
            self.barrier()
            self.is_alone = False
            first, last = (max(evaluate(lower, envs[0])), min(evaluate(upper, envs[0])))
            for self.current, begin, end in self.shares(node, first, last):
                more = {self.program.thread: self.current, node.last: end}
                for value in range(begin, end + 1, node.step):
                    body([{**env, **more, node.var: value} for env in envs])
            self.current, self.is_alone = 0, True
            self.barrier()

        return execute

    def shares(self, node, first, last):
        """(thread, first and last iteration), of each thread in its order."""
        count = (last - first) // node.step + 1
        if node.last:
            together = max((inner.step for inner in loops(node.body) if variable(node.var) in inner.lower), default=1)
            units = (last - first) // together + 1
            number = self.count * (4 if emit.is_short(self.program, node) else 1)
            ends = [first + s * units // number * together for s in range(number + 1)]
            return [(s % self.count, ends[s], min(ends[s + 1] - 1, last)) for s in range(number)]
        if is_uneven(node, self.program.thread):
            return [(n % self.count, first + n * node.step, first + n * node.step) for n in range(count)]
        ends = [first + s * count // self.count * node.step for s in range(self.count + 1)]
        return [(s, ends[s], ends[s + 1] - 1) for s in range(self.count)]


def uses(program, sizes, places, threads):
    """Of each region and thread: (statement, position, array, address, whether written)."""
    team = _Team(program, threads)
    phases = {name: places[array].address % 64 // places[array].element_bytes for name, array in program.phases.items()}
    team.block(program.body)([{**sizes, **phases, program.threads: threads, program.thread: 0}])
    table = AccessTable(program.scop.context)
    found = []
    for region in team.regions:
        found.append([])
        for thread, ran in enumerate(region):
            found[-1].append([])
            for name, point, env in ran:
                statement = program.scop.statements[name]
                values = {**env, **dict(zip(statement.iterators, point))}
                for position, access in enumerate(reads_and_write(statement)):
                    if access.array in places:
                        index = [e.evaluate(values) for e in table.subscripts(access)]
                        place, window = places[access.array], program.windows.get(access.array)
                        if window is not None:
                            index = [i - low.evaluate(env) for i, low in zip(index, window.low)]
                            if window.folded is not None:
                                index[window.folded] %= window.lengths[window.folded]
                        address = place.address + sum(i * step for i, step in zip(index, place.strides))
                        address += thread * place.apart_bytes if place.copies > 1 else 0
                        found[-1][-1].append((name, position, access.array, address, position == len(statement.reads)))
    return found


def in_turn(regions):
    """The uses in the order of all threads, each with its thread: one of each in turn, those that are done none."""
    for region in regions:
        numbered = ([(thread, use) for use in own] for thread, own in enumerate(region))
        yield from (use for use in chain.from_iterable(zip_longest(*numbered)) if use is not None)
