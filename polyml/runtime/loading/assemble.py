"""LLVM text -> object code."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections import deque
from collections.abc import Sequence
from functools import cache

_OPTIMISATION_LEVEL = 2


def assemble(text: str, *, cpu: str = "", features: str = "", level: int = _OPTIMISATION_LEVEL) -> bytes:
    """Returns object code of LLVM text for this machine's architecture, position independent, without passes on the text.

    cpu, features: as LLVM names them; "" makes code for any CPU of the architecture.
    level: how hard LLVM's code generator works, from 0 to 3.
    """
    module = _parsed(text)
    return _machine(cpu, features, level).emit_object(module)


def assemble_together(texts: Sequence[str], *, cpu: str = "", features: str = "", level: int = 1) -> tuple[bytes, ...]:
    """Returns the object code of each text, each made on a thread of its own."""
    with Assembler(len(texts) - 1, cpu=cpu, features=features, level=level) as assembler:
        for text in texts:
            assembler.add(text)
        return assembler.objects()


class Assembler:
    """An assembler makes object code of texts on several threads: others begin with each text when it is added, and the one that
    asks for the objects makes what is left.

    After an error in a `with` block what nobody began is left alone, and no thread is at work behind it. Modules end here, since
    those that are left to the garbage collector may be ended after their contexts. All that needs Python's lock is done by the
    thread that adds, which seldom gives it away: the others call LLVM alone.

    others: how many other threads there may be.
    """

    def __init__(self, others: int, *, cpu: str = "", features: str = "", level: int = 1):
        self._others, self._machines = others, _idle_machines(cpu, features, level)
        self._modules: list[_ObjectModule] = []
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()  # guards what follows
        self._waiting: deque[_ObjectModule] = deque()
        self._at_work = 0

    def __enter__(self) -> Assembler:
        return self

    def __exit__(self, kind, *_) -> None:
        if kind is not None:
            self._waiting.clear()
            self._join()
            self._modules.clear()

    def add(self, text: str) -> None:
        """Adds a text. Raises RuntimeError if LLVM cannot parse it."""
        module = _ObjectModule(text)
        self._modules.append(module)
        with self._lock:
            self._waiting.append(module)
            is_new = self._at_work < self._others
            self._at_work += is_new
        if is_new:
            self._begin(self._machines.take())

    def objects(self) -> tuple[bytes, ...]:
        """Returns the object code of the texts, in their order. Raises RuntimeError if there is no code for one."""
        with self._lock:
            self._at_work += 1
        self._work(self._machines.take())
        self._join()
        try:
            return tuple(module.content() for module in self._modules)
        finally:
            self._modules.clear()

    def _begin(self, machine) -> None:
        """Starts a thread that works with this target machine; where the system gives none, `objects` makes what waits."""
        thread = threading.Thread(target=self._work, args=(machine,))
        try:
            thread.start()
        except RuntimeError:  # the system gives no more threads: `objects` makes what waits
            self._others = 0
            self._machines.give(machine)
        else:
            self._threads.append(thread)

    def _join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _work(self, machine) -> None:
        """Makes object code of what waits, until nothing does."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._at_work -= 1
                    break
                module = self._waiting.popleft()
            module.emit(machine)
        self._machines.give(machine)


def assembly(text: str, *, cpu: str = "", features: str = "", level: int = 1) -> str:
    """Returns the assembly text of what `assemble` makes."""
    return _machine(cpu, features, level).emit_assembly(_parsed(text))


def assemble_optimised(text: str) -> bytes:
    """Returns object code for any CPU of the architecture after LLVM's passes, which cost more time than they gain in kernels."""
    llvm, machine, module = llvm_binding(), _machine("", "", _OPTIMISATION_LEVEL), _parsed(text)
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)


def _parsed(text: str, context=None):
    module = llvm_binding().parse_assembly(text, context)
    module.verify()
    return module


class _ObjectModule:
    """An object module is an LLVM text with a context of its own, and its object code.

    The code is made as by `machine.emit_object`, in two steps, the first without llvmlite's lock, which lets one thread into LLVM
    at a time. LLVM itself asks only that a context and a machine are used by one thread at a time.
    """

    def __init__(self, text: str):
        from llvmlite.binding import ffi

        self._module, self._library = _parsed(text, llvm_binding().create_context()), ffi.lib
        self._emit = _unlocked(ffi.lib, "LLVMPY_TargetMachineEmitToMemory")
        self._buffer, self._problem = None, ffi.OutputString()

    def emit(self, machine) -> None:
        """Makes the object code, on any thread."""
        self._buffer = self._emit(machine, self._module, 1, self._problem)

    def content(self) -> bytes:
        """Returns the object code. Raises RuntimeError where there is none."""
        if not self._buffer:
            raise RuntimeError(str(self._problem))
        start, size = self._library.LLVMPY_GetBufferStart(self._buffer), self._library.LLVMPY_GetBufferSize(self._buffer)
        content = ctypes.string_at(start, size)
        self._library.LLVMPY_DisposeMemoryBuffer(self._buffer)
        return content


@cache
def _unlocked(library, name: str):
    """Returns the function of LLVM that llvmlite calls with its lock held."""
    locked = getattr(library, name)
    path = getattr(library, "_name", None)
    if path is None:  # a later llvmlite may keep it elsewhere: then one thread at a time
        return locked
    function = getattr(ctypes.CDLL(path), name)
    function.restype, function.argtypes = locked.restype, locked.argtypes
    return function


@cache
def llvm_binding():
    """Returns llvmlite's binding, with LLVM initialized."""
    import llvmlite.binding as llvm

    with contextlib.suppress(RuntimeError):  # needed before llvmlite 0.45, refused since
        llvm.initialize()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@cache
def _machine(cpu: str, features: str, level: int):
    return _new_machine(cpu, features, level)


def _new_machine(cpu: str, features: str, level: int):
    target = llvm_binding().Target.from_triple(llvm_binding().get_process_triple())
    return target.create_target_machine(cpu=cpu, features=features, opt=level, reloc="pic", codemodel="small")


@cache
class _idle_machines:  # noqa: N801 (used as a function, cached by its arguments)
    """Idle machines are LLVM's target machines of one kind that no thread uses. To make one takes as long as the code of a small
    function.
    """

    def __init__(self, cpu: str, features: str, level: int):
        self._kind = cpu, features, level
        self._idle: list[object] = []  # LLVM's target machines, of which llvmlite has no types

    def take(self):
        try:
            return self._idle.pop()
        except IndexError:
            return _new_machine(*self._kind)

    def give(self, machine) -> None:
        self._idle.append(machine)
