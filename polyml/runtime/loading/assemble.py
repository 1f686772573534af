"""LLVM text -> object code."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections import deque
from collections.abc import Sequence
from functools import cache

from polyml.codegen.llvm.builder import ROUGH

_OPTIMISATION_LEVEL = 2


def assemble(text: str, *, cpu: str = "", features: str = "", level: int = _OPTIMISATION_LEVEL) -> bytes:
    """Returns relocatable object code of LLVM text for this machine's architecture, position independent.

    LLVM's optimisation passes do not run on the text.

    cpu, features: as LLVM names them; "" makes code for any CPU of the architecture.
    level: how hard LLVM's code generator works, from 0 to 3.
    """
    module = _parsed(text)
    return _machine(cpu, features, level).emit_object(module)


def assemble_together(texts: Sequence[str], *, cpu: str = "", features: str = "", level: int = 1) -> tuple[bytes, ...]:
    """Returns the object code of each LLVM text, made on as many threads as there are texts.

    cpu, features, level: as for `assemble`.
    """
    with Assembler(len(texts) - 1, cpu=cpu, features=features, level=level) as assembler:
        for text in texts:
            assembler.add(text)
        return assembler.objects()


class Assembler:
    """An Assembler makes object code of LLVM texts on several threads, in a `with` block.

    Other threads begin with each text when it is added, and the thread that asks for the objects makes what is left.

    After `objects`, or an error in the block, no thread is at work and the LLVM modules are freed. They are not left to the garbage
    collector, which might free their contexts first. Other threads need Python's lock only between calls of LLVM.

    others: how many other threads there may be.
    cpu, features, level: as for `assemble`.
    """

    def __init__(self, others: int, *, cpu: str = "", features: str = "", level: int = 1):
        self._others, self._machines = others, _idle_machines(cpu, features, level)
        self._target = cpu, features
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
            self._close()

    def add(self, text: str) -> None:
        """Adds an LLVM text, and lets another thread begin with it."""
        module = _ObjectModule(_optimised(text, *self._target) if text.startswith(ROUGH) else text)
        self._modules.append(module)
        with self._lock:
            self._waiting.append(module)
            is_new = self._at_work < self._others
            self._at_work += is_new
        if is_new:
            self._begin(self._machines.take())

    def objects(self) -> tuple[bytes, ...]:
        """Returns the object code of the texts, in the order in which they were added.

        Raises RuntimeError if LLVM cannot parse a text, or make object code of it.
        """
        with self._lock:
            self._at_work += 1
        self._work(self._machines.take())
        self._join()
        try:
            return tuple(module.content() for module in self._modules)
        finally:
            self._close()

    def _begin(self, machine) -> None:
        """Starts a thread that makes object code of waiting texts with this target machine.

        Where the system gives no thread, `objects` makes the code of these texts.
        """
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

    def _close(self) -> None:
        while self._modules:
            self._modules.pop().close()

    def _work(self, machine) -> None:
        """Makes object code of waiting texts with this target machine, until no text waits."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._at_work -= 1
                    break
                module = self._waiting.popleft()
            module.emit(machine)
        self._machines.give(machine)


def assembly(text: str, *, cpu: str = "", features: str = "", level: int = 1) -> str:
    """Returns the assembly text of the code that an `Assembler` makes of an LLVM text."""
    made = _optimised(text, cpu, features) if text.startswith(ROUGH) else text
    return _machine(cpu, features, level).emit_assembly(_parsed(made))


def assemble_optimised(text: str) -> bytes:
    """Returns object code of LLVM text for any CPU of the architecture, after LLVM's optimisation passes.

    For kernels these passes cost more time than they gain.
    """
    llvm, machine, module = llvm_binding(), _machine("", "", _OPTIMISATION_LEVEL), _parsed(text)
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)


def _optimised(text: str, cpu: str, features: str) -> str:
    """Returns an LLVM text as LLVM's optimisation passes leave it, for code of regions: loops are vectorised, and checks moved."""
    llvm, module = llvm_binding(), _parsed(text)
    machine = _machine(cpu, features, _OPTIMISATION_LEVEL)
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = tuning.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    return str(module)


def _parsed(text: str, context=None):
    module = llvm_binding().parse_assembly(text, context)
    module.verify()
    return module


class _ObjectModule:
    """An _ObjectModule is an LLVM text in a context of its own, and the object code that is made of it.

    llvmlite's own functions hold its lock, so that one thread at a time is in LLVM; `emit` works without the lock. LLVM itself asks
    only that a context and a machine are used by one thread at a time.
    """

    def __init__(self, text: str):
        from llvmlite.binding import ffi

        self._text, self._context, self._library = text.encode(), llvm_binding().create_context(), ffi.lib
        self._parse = _unlocked(ffi.lib, "LLVMPY_ParseAssembly")
        self._verify = _unlocked(ffi.lib, "LLVMPY_VerifyModule")
        self._emit = _unlocked(ffi.lib, "LLVMPY_TargetMachineEmitToMemory")
        self._module, self._buffer, self._problem = None, None, ffi.OutputString()

    def emit(self, machine) -> None:
        """Makes the object code with a target machine, on any thread; `content` returns it."""
        self._module = self._parse(self._context, ctypes.c_char_p(self._text), self._problem)
        if self._module and not self._verify(self._module, self._problem):
            self._buffer = self._emit(machine, self._module, 1, self._problem)

    def content(self) -> bytes:
        """Returns the object code. Raises RuntimeError where there is none."""
        if not self._buffer:
            raise RuntimeError(f"{'LLVM' if self._module else 'LLVM IR parsing'} error\n{self._problem}")
        start, size = self._library.LLVMPY_GetBufferStart(self._buffer), self._library.LLVMPY_GetBufferSize(self._buffer)
        return ctypes.string_at(start, size)

    def close(self) -> None:
        """Frees the LLVM module and its object code."""
        if self._buffer:
            self._library.LLVMPY_DisposeMemoryBuffer(self._buffer)
        if self._module:
            self._library.LLVMPY_DisposeModule(self._module)
        self._buffer = self._module = None


@cache
def _unlocked(library, name: str):
    """Returns a C function of llvmlite's library, by its name, that does not take llvmlite's lock.

    Where the library's path is not known, the function that takes the lock is returned.
    """
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
    """An _idle_machines holds LLVM's target machines for one CPU, its features and a level, that no thread uses, to be used again.

    To make a target machine takes as long as the code of a small function.
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
