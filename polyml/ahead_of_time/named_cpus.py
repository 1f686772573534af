"""The processors that libraries are built for, by name."""

from __future__ import annotations

import difflib
from dataclasses import replace

from polyml.errors import ConfigError
from polyml.machines import catalogue, cpu
from polyml.machines.cpu import CpuMachine, LlvmTarget
from polyml.machines.descriptions import Cpu
from polyml.reading.input_limits import shown

_LIKE = {  # processors of which no figures are kept: vectors and caches of a preset, instructions of their own
    "x86-64": ("sse2", "x86-64", ""),
    "x86-64-v2": ("sse2", "x86-64-v2", ""),
    "x86-64-v3": ("avx2", "x86-64-v3", "+f16c"),
    "x86-64-v4": ("avx512", "x86-64-v4", "+f16c,-prefer-256-bit"),
    "aarch64": ("neon", "generic", "+neon"),
    "cortex-a72": ("neon", "cortex-a72", "+neon"),
    "neoverse-n1": ("neon", "neoverse-n1", "+neon"),
    "neoverse-n2": ("neon", "neoverse-n2", "+neon"),
}


def names() -> tuple[str, ...]:
    """Returns the names of the processors, "native" first.

    >>> {"native", "x86-64-v3", "neoverse-n1", "zen5"} <= {*names()}
    True
    """
    presets = [name for name in catalogue.names() if isinstance(catalogue.preset(name), Cpu)]
    return ("native", *_LIKE, *presets)


def processor(name: str) -> CpuMachine:
    """Returns the processor of one of `names()`. Raises ConfigError for any other name.

    >>> processor("x86-64-v3").vector_bytes, processor("neoverse-n1").cpu_name
    (32, 'neoverse-n1')
    """
    if name == "native":
        return cpu.host()
    if name in _LIKE:
        like, llvm_name, features = _LIKE[name]
        base = catalogue.processor(like)
        return replace(base, name=name, preset_target=LlvmTarget(base.triple, llvm_name, features))
    if name not in names():
        near = difflib.get_close_matches(name[:100], names(), n=1)
        hint = [f"did you mean {near[0]}?"] if near else []
        raise ConfigError(f"there is no processor {shown(name)}", notes=[*hint, f"known: {', '.join(names())}"])
    return catalogue.processor(name)


def is_host(machine: CpuMachine) -> bool:
    """Returns whether the machine's architecture is that of this computer, so that its own linker and loader take its code."""
    return machine.isa == cpu.host().isa
