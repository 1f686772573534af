"""The text of a program for GPUs: one kernel for each launch, and the functions that they call.

GpuProgram   ->   __kernel void copy_0(__global double *restrict B, ...) { const long i = ...; if (i < n) B[i] = A[i]; }
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from polyml.codegen.gpu.dialect import Dialect
from polyml.codegen.gpu.functions import definitions
from polyml.codegen.gpu.integers import condition, extreme, factor
from polyml.codegen.gpu.program import GpuProgram, Launch, LaunchAxis, Version
from polyml.codegen.gpu.registers import Registers
from polyml.codegen.gpu.values import Needs, Text, Values
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Guard, Instance, Loop, Node, instances, loops
from polyml.dtypes import DType
from polyml.model.core.scop import Scop
from polyml.quasi_affine.affine import Affine, Compare, Condition, conjunction, variable

_STEP = "    "
_KEYWORDS = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if inline int long register restrict return "
    "short signed sizeof static struct switch typedef union unsigned void volatile while bool half uchar ushort uint ulong kernel global "
    "local constant private read_only write_only read_write event_t sampler_t image2d_t image3d_t size_t ptrdiff_t complex imaginary "
    "class new delete this template typename namespace using public protected virtual operator friend throw try catch true false NULL "
    "and or not xor asm mutable explicit export static_cast status abs min max".split()
)


@dataclass(frozen=True)
class LaunchSignature:
    """A LaunchSignature lists the parameters of a kernel, in this order.

    arrays: names of arrays stored row by row, each a pointer to its first element, and whether the kernel writes it.
    integers: names of sizes and of loops of the host.
    firsts: numbers of axes whose first block is a parameter.
    extents: numbers of axes whose number of blocks is a parameter.
    numbers: names and types of arguments that are numbers.
    status: whether a pointer to an int, where a kernel says that the call fails, comes last.
    """

    arrays: tuple[tuple[str, bool], ...]
    integers: tuple[str, ...]
    firsts: tuple[int, ...]
    extents: tuple[int, ...]
    numbers: tuple[tuple[str, DType], ...]
    status: bool


@dataclass(frozen=True)
class LaunchSource:
    """A LaunchSource holds the text of all launches of a program, and { name of a kernel in it -> its signature }."""

    text: str
    signatures: dict[str, LaunchSignature]


def source(program: GpuProgram, dialect: Dialect, strict: bool = True) -> LaunchSource:
    """Returns the text of the program's launches in the dialect's language, and the signatures of its kernels.

    strict: whether a*b + c is rounded twice.
    """
    needs: dict[str, None] = {}
    kernels, signatures = [], {}
    for launch in program.launches.values():
        kernel = _KernelText(program.scop, launch, dialect)
        kernels.append(kernel.text())
        signatures[launch.name] = kernel.signature
        needs |= kernel.needs.functions
    functions = definitions(needs, dialect)
    preamble = dialect.preamble.replace("{contract}", "OFF" if strict else "ON")
    preamble += dialect.half_header if any("f16" in name and "bf16" not in name for name in needs) else ""
    return LaunchSource("\n\n".join(filter(None, (preamble.rstrip(), functions, *kernels))) + "\n", signatures)


class _KernelText:
    """A _KernelText writes the text of one kernel, and collects what the text refers to.

    needs: device functions, arguments that are numbers, and whether the kernel may find that the call fails.
    """

    def __init__(self, scop: Scop, launch: Launch, dialect: Dialect):
        self._scop, self._launch, self._dialect = scop, launch, dialect
        self.needs = Needs()
        self._table = AccessTable(scop.context)
        self._arrays: dict[str, bool] = {}
        self._integers: dict[str, None] = {}
        self._outer = _outer_names(launch, scop)
        self._begin(launch.versions[0])
        self._filled: list[Registers] = []
        self._held: dict[str, str] = {}  # array -> the register that stands for its element
        self._values = Values(scop, dialect, self.needs, self._element, self._renamed)

    @property
    def signature(self) -> LaunchSignature:
        """The parameters of the kernel; complete when its text has been written."""
        known = {*self._launch.host, *(p.name for p in self._scop.parameters)}
        integers = tuple(sorted(self._integers.keys() & known))
        numbers = tuple(self.needs.numbers.items())
        return LaunchSignature(tuple(self._arrays.items()), integers, self._firsts, self._extents, numbers, self.needs.status)

    @property
    def _firsts(self) -> tuple[int, ...]:
        """The numbers of the axes whose first block is a parameter: where it is not 0, or one launch may not take all blocks."""
        return tuple(k for k, axis in enumerate(self._launch.axes) if axis.first != Affine() or self._dialect.splits[min(k, 2)])

    @property
    def _extents(self) -> tuple[int, ...]:
        """The numbers of the axes whose number of blocks is a parameter: those that share the third axis of the grid, but for
        the last.
        """
        return tuple(range(2, len(self._launch.axes) - 1))

    def text(self) -> str:
        """Returns the text of the whole kernel."""
        for node in instances(tuple(node for version in self._launch.versions for node in version.body)):
            self._arrays[self._scop.statements[node.statement].write.array] = True
        body = [_STEP + line for line in self._versions()]
        starts = [_STEP + self._start(number, axis) for number, axis in enumerate(self._launch.axes)]
        sizes = [axis.threads for axis in self._launch.axes[:3]] + [1] * (3 - len(self._launch.axes))
        bounds = self._dialect.launch_bounds.format(x=sizes[0], y=sizes[1], z=sizes[2], threads=sizes[0] * sizes[1] * sizes[2])
        head = f"{self._dialect.kernel} {bounds}\n{self._launch.name}({', '.join(self._parameters())})"
        return "\n".join([f"{head}\n{{", *starts, *body, "}"])

    def _start(self, number: int, axis: LaunchAxis) -> str:
        """Returns the C line that declares a thread's first iteration along an axis.

        number: that of the axis, from 0 on.
        """
        block, index = self._block_number(number), self._dialect.index
        if number in self._firsts:
            block = f"({block} + {_first(axis)})"
        thread = f" + {self._dialect.thread[number]}" if axis.threads > 1 else ""
        extent = axis.threads * axis.items
        scaled = f"({index}){block} * {extent}" if extent > 1 else f"({index}){block}"
        return f"const {index} {_named(axis.start)} = {scaled}{thread};"

    def _block_number(self, number: int) -> str:
        """Returns the C text of the number of a thread's block along an axis. Axes from the third one on share the third axis of
        the grid.

        number: that of the axis, from 0 on.
        """
        text, axes = self._dialect.block[min(number, 2)], self._launch.axes
        if len(axes) <= 3 or number < 2:
            return text
        for axis in axes[2:number]:
            text = f"{text} / {_blocks(axis)}"
        return f"({text} % {_blocks(axes[number])})" if number in self._extents else f"({text})"

    def _parameters(self) -> Iterator[str]:
        """Yields the declarations of the kernel's parameters, in order."""
        signature, dialect = self.signature, self._dialect
        for array, is_written in signature.arrays:
            element = dialect.memory_type(self._scop.arrays[array].element)
            const = "" if is_written else "const "
            yield f"{dialect.pointer}{const}{element} *{dialect.restrict} {_named(array)}"
        yield from (f"const {dialect.index} {_named(name)}" for name in signature.integers)
        yield from (f"const {dialect.index} {_first(self._launch.axes[k])}" for k in signature.firsts)
        yield from (f"const {dialect.index} {_blocks(self._launch.axes[k])}" for k in signature.extents)
        yield from (f"const {dialect.memory_type(dtype)} {_named(name.replace('.', '_'))}" for name, dtype in signature.numbers)
        if signature.status:
            yield f"{dialect.pointer}int *status"

    def _versions(self) -> Iterator[str]:
        """Yields the C lines of what a thread runs: of its one version, or of two behind a test of the first one's condition."""
        first, *others = self._launch.versions
        if not others:
            for node in first.body:
                yield from self._lines(node)
            return
        yield from self._block(f"if ({condition(self._renamed_condition(first.condition), self._use)})", first.body)
        for version in others:
            self._begin(version)
            yield from self._block("else", version.body)

    def _begin(self, version: Version) -> None:
        """Makes the version's registers, and the names of its loops in the C text, those of the lines that follow."""
        self._registers = version.registers
        self._names = {**self._outer, **_loop_names(version, self._outer, self._scop)}
        self._renaming = {name: variable(new) for name, new in self._names.items() if new != name}

    # -- what a thread runs ---------------------------------------------------------------------------------------

    def _lines(self, node: Node) -> Iterator[str]:
        """Yields the C lines of a node, without indentation around them."""
        if isinstance(node, Instance):
            yield from self._instance(node)
        elif isinstance(node, Guard):
            yield from self._block(f"if ({condition(self._renamed_condition(node.condition), self._use)})", node.body)
        elif isinstance(node, Loop):
            held = next((each for each in self._registers if each.loop is node), None)
            if held is not None and held not in self._filled:
                yield from self._with_registers(held)
                return
            name = self._names[node.var]
            lower = extreme("max", [self._renamed(e) for e in node.lower], self._use)
            last = extreme("min", [self._renamed(e + 1) for e in node.upper], self._use)
            step = f"{name}++" if node.step == 1 else f"{name} += {node.step}"
            if any(name == item for held in self._registers for item, _ in held.items):
                yield "#pragma unroll"
            yield from self._block(f"for ({self._dialect.index} {name} = {lower}; {name} < {last}; {step})", node.body)
        else:
            raise TypeError(f"not a node of a thread: {node!r}")

    def _with_registers(self, held: Registers) -> Iterator[str]:
        """Yields the C lines of a loop, between lines that load elements into registers and lines that store these; all of them
        behind a test of whether the loop runs.
        """
        loop, element = held.loop, self._scop.arrays[held.array].element
        kind, name = self._dialect.register_type(element), f"{_named(held.array)}_held"
        sizes = "".join(f"[{count}]" for _, count in held.items)
        self._filled.append(held)
        memory = self._element(held.array, [self._values.index(each) for each in held.subscripts])
        register = name + "".join(f"[{item}]" for item, _ in held.items)
        runs = conjunction(*(Compare(">=", self._renamed(last - first)) for first in loop.lower for last in loop.upper))
        yield f"if ({condition(runs, self._use)}) {{"
        yield f"{_STEP}{kind} {name}{sizes};"
        loaded = self._values.loaded(memory, element).text
        yield from (_STEP + line for line in self._for_items(held, f"{register} = {loaded};"))
        self._held[held.array] = register
        yield from (_STEP + line for line in self._lines(loop))
        del self._held[held.array]
        stored = self._values.stored(Text(register), element)
        yield from (_STEP + line for line in self._for_items(held, f"{memory} = {stored};"))
        yield "}"

    def _for_items(self, held: Registers, line: str) -> Iterator[str]:
        """Yields the C lines of unrolled loops over all of a thread's items, around the given line."""
        indent = ""
        for item, count in held.items:
            yield f"{indent}#pragma unroll"
            yield f"{indent}for (int {item} = 0; {item} < {count}; {item}++)"
            indent += _STEP
        yield indent + line

    def _block(self, head: str, body: Sequence[Node]) -> Iterator[str]:
        """Yields the line `head` and the lines of the nodes, in braces unless they are one line."""
        inside = [line for node in body for line in self._lines(node)]
        if len(inside) == 1:
            yield head
            yield _STEP + inside[0]
            return
        yield f"{head} {{"
        yield from (_STEP + line for line in inside)
        yield "}"

    def _instance(self, node: Instance) -> Iterator[str]:
        """Yields the C lines of an instance, in braces unless they are one line."""
        lines = self._values.assignment(self._scop.statements[node.statement], node.point)
        if len(lines) == 1:
            yield lines[0]
            return
        yield "{"
        yield from (_STEP + line for line in lines)
        yield "}"

    def _element(self, array: str, subscripts: Sequence[str]) -> str:
        """Returns the C text of an element of an array that is stored row by row, or of the register that holds the element. In
        the former case, notes that the kernel refers to the array.

        subscripts: their C texts, by dimension.
        """
        if array in self._held:
            return self._held[array]
        self._arrays.setdefault(array, False)
        offset = subscripts[0] if subscripts else "0"
        for text, extent in zip(subscripts[1:], self._scop.arrays[array].shape[1:]):
            size = factor(self._renamed(self._table.affine(extent)), self._use)
            rows = offset if offset.isidentifier() or offset.isdigit() else f"({offset})"
            offset = f"{rows}*{size} + {f'({text})' if '?' in text else text}"
        return f"{_named(array)}[{offset}]"

    def _renamed(self, value: Affine) -> Affine:
        """Returns the expression with the names of the C text in place of the program's, and notes that the kernel refers
        to them.
        """
        for name in value.names:
            self._integers[name] = None
        return value.substitute(self._renaming)

    def _renamed_condition(self, value: Condition) -> Condition:
        """Returns the condition with the names of the C text in place of the program's, and notes that the kernel refers to
        them.
        """
        for name in value.names:
            self._integers[name] = None
        return value.substitute(self._renaming)

    def _use(self, function: str) -> str:
        """Returns the name of a device function, and notes that the kernel calls it."""
        return self.needs.function(function)


def _first(axis: LaunchAxis) -> str:
    """Returns the name of the kernel's parameter that is the number of the axis's first block."""
    return f"first_{axis.start}"


def _blocks(axis: LaunchAxis) -> str:
    """Returns the name of the kernel's parameter that is how many blocks the axis has."""
    return f"blocks_{axis.start}"


def _named(name: str) -> str:
    """Returns the name as C may have it: with an underscore behind it if it is a word of C."""
    return f"{name}_" if name in _KEYWORDS else name


def _outer_names(launch: Launch, scop: Scop) -> dict[str, str]:
    """Returns { name in the program -> name in the C text } of what is the same in all loops of a thread: sizes, loops of the
    host, and where the axes start.
    """
    return {
        name: _named(name) for name in (*launch.host, *(axis.start for axis in launch.axes), *(p.name for p in scop.parameters))
    }


def _loop_names(version: Version, outer: Mapping[str, str], scop: Scop) -> dict[str, str]:
    """Returns { loop variable -> its name in the C text }: the name that the schedule gives the loop, changed if it is a word of
    C or in use.

    outer: { name in the program -> name in the C text } of what the loops are over.
    """
    items = {item for held in version.registers for item, _ in held.items}
    taken = {*outer.values(), *map(_named, (*scop.arrays, *scop.params)), *items}
    found: dict[str, str] = {}
    for loop in loops(version.body):
        wanted = _named(loop.name or loop.var)
        name, number = wanted, 2
        while name in taken and name not in items:
            name, number = f"{wanted}_{number}", number + 1
        found[loop.var] = name
        taken.add(name)
    return found
