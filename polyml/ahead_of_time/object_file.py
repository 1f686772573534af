"""LLVM texts become one object file, for any processor that this LLVM makes code for."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from polyml.ahead_of_time.c_interface.c_entry import THREADS
from polyml.errors import ConfigError
from polyml.machines.cpu import CpuMachine
from polyml.runtime.loading import scratch_memory, thread_pool
from polyml.runtime.loading.assemble import llvm_binding
from polyml.runtime.loading.embedded_ir import text as text_beside
from polyml.runtime.loading.link import PARALLEL

_LEVEL = 1  # of LLVM's code generator, as for code in memory
SET_THREADS = "polyml_set_threads"


@dataclass(frozen=True)
class LlvmPart:
    """An LlvmPart is LLVM text that becomes part of an object.

    names: {symbol that it defines: the symbol in the object}.
    prefix: stands before all other symbols that it defines.
    is_optimised: whether LLVM's optimisation passes run on it; kernels have no need of them.
    """

    text: str
    names: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""
    is_optimised: bool = False


def memory_part() -> LlvmPart:
    """Returns the part that gives kernels memory for local arrays."""
    return LlvmPart(scratch_memory.text(), is_optimised=True)


def thread_parts(threads: str, machine: CpuMachine) -> tuple[LlvmPart, ...]:
    """Returns the parts that run parallel loops: "pool", threads of the library's own, "openmp", OpenMP's, or "none"."""
    if threads == "none":
        return ()
    if threads == "openmp":
        return (LlvmPart(text_beside("openmp.ll", __file__), is_optimised=True),)
    run = "polyml_pool_run"
    pool = thread_pool.text(machine.isa, is_linux=True).replace(f"@{PARALLEL}(", f"@{run}(")
    start = text_beside("pool_start.ll", __file__)
    call = f"""
define void @{PARALLEL}(ptr %fn, ptr %env, i64 %shares, i64 %asked) {{
  call void @prepare()
  call void @{run}(ptr %fn, ptr %env, i64 %shares, i64 %asked)
  ret void
}}
"""
    return (LlvmPart(pool + start + call, is_optimised=True),)


def object_of(parts: Sequence[LlvmPart], machine: CpuMachine, exported: frozenset[str]) -> bytes:
    """Returns the object that has these parts, linked with one another.

    exported: the symbols that programs see; all others that the parts define are the object's own.
    Raises ConfigError where a part calls a function of a name that is exported, and where LLVM makes no code for the machine.
    """
    target = _target_machine(machine)
    modules = [_module(part, machine, target) for part in parts]
    outside = {f.name for m in modules for f in m.functions if f.is_declaration} - {PARALLEL, THREADS}
    if clash := sorted(exported & outside):
        raise ConfigError(
            f"a library cannot have a function `{clash[0]}`, since its code calls the system's",
            notes=["--name gives it another name"],
        )
    whole, *others = modules
    for other in others:
        whole.link_in(other)
    for each in (*whole.functions, *whole.global_variables):
        if not each.is_declaration and each.name not in exported and not each.name.startswith("llvm."):
            each.visibility = "default"  # else a symbol that is internal may not have this linkage
            each.linkage = "internal"
    whole.verify()
    return target.emit_object(whole)


def _module(part: LlvmPart, machine: CpuMachine, target):
    llvm = llvm_binding()
    module = llvm.parse_assembly(part.text)
    module.triple, module.data_layout = machine.triple, str(target.target_data)
    module.verify()
    for each in (*module.functions, *module.global_variables):
        if not each.is_declaration:
            each.name = part.names.get(each.name, f"{part.prefix}{each.name}")
    if part.is_optimised:
        builder = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=2))
        builder.getModulePassManager().run(module, builder)
    return module


def _target_machine(machine: CpuMachine):
    llvm = llvm_binding()
    with contextlib.suppress(AttributeError):  # not every llvmlite has more than the host's
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    try:
        target = llvm.Target.from_triple(machine.triple)
    except RuntimeError as problem:
        raise ConfigError(f"this LLVM makes no code for {machine.triple}: {problem}") from None
    return target.create_target_machine(cpu=machine.cpu_name, features=machine.features, opt=_LEVEL, reloc="pic", codemodel="small")
