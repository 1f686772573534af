"""Settings: their names, the values that they take, and where they come from.

    defaults  <  POLYML_* environment variables  <  polyml.config.scope(...)  <  @polyml.kernel(...)

A kernel reads the environment when it compiles, and when a call has other arguments or another scope than the call before.

>>> import polyml
>>> with polyml.config.scope(fp="strict"):
...     polyml.config.resolve().fp
'strict'
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping
from contextvars import ContextVar, Token
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from polyml import tracebacks
from polyml.errors import ConfigError
from polyml.machines.cpu import usable_cores
from polyml.reading.input_limits import shown, whole_number
from polyml.values import cached_property

_LONGEST_PATH = 4095  # bytes that Linux takes as a path
_MOST_NAMES = 100
STAGES = ("kernel", "domain", "deps", "schedule", "ast", "llvm", "asm")
PASSES = (  # the names of `pipeline.passes`, which need no compiler to be known
    "algebra", "lower", "live_ranges", "infer", "conditional_extrema", "conditional_flags", "complex_parts", "resolve", "equal_sizes", "alike_sizes", "unroll_sums", "narrow_counters", "forward_substitution",
    "counter_steps", "block_argmax", "inline_arrays", "copy_coalescing", "reshaped_copies", "value_arguments", "array_contraction", "in_place_sums",
    "update_chains", "scalar_placement", "symmetric_results", "extract", "align_slices", "scalar_expansion", "masked_updates",
    "array_expansion", "running_maximum", "term_by_term", "index_set_splitting", "node_splitting", "traffic_fusion", "fusion", "shift",
    "time_tiling", "blocked_factorization", "row_strips", "contraction", "cpu_mapping", "row_chunks", "build", "index_bounds", "privatize_reductions",
    "prefetch", "mark_scans", "balance", "pack", "full_tiles", "privatize", "split_loops", "region_lanes", "vectorize", "fold_storage", "share_memory",
)  # fmt: skip


@dataclass(frozen=True)
class Options:
    """The options hold a value for every setting of polyml.

    fp: "strict" keeps the source's order of operations; "reassociate" may reorder recognised reductions and contract a*b+c; "fast"
        allows all that LLVM's fast-math flags do.
    schedule: "auto" lets the compiler choose the order of loops; "source" keeps the source's.
    fusion: which neighbouring nests are fused, "no": none; "max": all that may be; "smart": those that use the same data and whose
        loop stays parallel; "model": those of "smart", and those for which the memory traffic saved is worth what the fusion costs.
    threads: how many threads run a kernel; 0: one for every core this process may use.
    parallel, vectorize, tile: whether loops may run in parallel, as vectors, in tiles.
    fallback: what a call does whose function is not compiled as a whole, "warn" and "silent": the function runs as plain Python, in
        which some loops may be compiled, with a warning or without; "error": the call raises.
    recompile: what a kernel that has compiled code does in a call whose types or sizes need other code, "default": it compiles;
        "fail": it raises; "plain": it runs as plain Python.
    on_defect: what happens where the compiler itself fails, "simpler": it tries again with fewer transformations, and at last the
        function runs as plain Python; "raise": CompileError is raised.
    tf32: whether products of float32 matrices may round their operands to 11 bits of significand, as the tensor cores of NVIDIA's GPUs
        do. Kernels with another target do not. "strict" forbids it.
    compile_budget_s: how many seconds a compilation should take at most, counted in work and not by a clock, so that the same
        budget gives the same code.
    libraries: whether kernels with target "cuda" may let cuBLAS compute large products of matrices; it sums up their terms in an order of its
        own.
    cache: whether compiled kernels are kept on disk.
    cache_dir: the absolute path of the cache's folder; None: the user's cache folder.
    cache_size_mb: the size of the cache at most, in megabytes.
    kept_memory_mb: how many megabytes of memory that arrays and calls gave back stay at hand for the next ones at most, in the whole
        process, where what the kernel says counts that became ready last; 0: none. `polyml.release_memory` gives it to the system.
    check: whether the result of every pass is checked at small sizes, with nothing taken from the cache.
    debug: the stages and passes whose results are dumped, names of STAGES and PASSES.
    debug_dir: the folder of the dumps; None: they go to standard error.
    traceback: what an error's traceback shows, "short": the user's lines; "full": also where in polyml it was raised, as it does wherever
        `debug` names something.

    >>> Options(threads=1, fp="fast").fusion
    'model'
    """

    fp: str = "reassociate"
    schedule: str = "auto"
    fusion: str = "model"
    threads: int = 0
    parallel: bool = True
    vectorize: bool = True
    tile: bool = True
    fallback: str = "warn"
    recompile: str = "default"
    on_defect: str = "simpler"
    tf32: bool = False
    compile_budget_s: int = 10
    libraries: bool = False
    cache: bool = True
    cache_dir: str | None = None
    cache_size_mb: int = 512
    kept_memory_mb: int = 256
    check: bool = False
    debug: tuple[str, ...] = ()
    debug_dir: str | None = None
    traceback: str = "short"

    def compile_key(self) -> Options:
        """Returns the settings on which compiled code depends, with all others at their defaults: equal keys stand for equal code.

        Code depends on `threads` only by whether there is one: it is 1 here, or 0 for more.
        """
        return self._compile_key

    @cached_property
    def _compile_key(self) -> Options:
        """Returns the value of `compile_key`, computed once, since counting the cores of this process reads several files."""
        kept = {
            name: getattr(self, name)
            for name in ("fp", "schedule", "fusion", "parallel", "vectorize", "tile", "tf32", "compile_budget_s", "libraries")
        }
        return Options(**kept, threads=int(self.runs_alone))

    @property
    def runs_alone(self) -> bool:
        """Returns whether kernels run on one thread, even where loops may be parallel."""
        return (self.threads or usable_cores()) == 1


@dataclass(frozen=True)
class _Setting:
    """A setting's rules: which values it accepts, how they are tested, and how an environment variable's text becomes one.

    accepts: the accepted values in words, for error messages.
    check: returns the value to store, or raises ValueError or TypeError.
    parse: turns the text of an environment variable into a value that `check` tests.
    """

    accepts: str
    check: Callable[[object], object]
    parse: Callable[[str], object]


def _choice(*allowed: str) -> _Setting:
    """Returns the rules of a setting that takes one of the words `allowed`."""

    def check(value: object) -> str:
        if value not in allowed:
            raise ValueError
        return value

    return _Setting(", ".join(f'"{a}"' for a in allowed), check, str.strip)


_WORDS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def _flag() -> _Setting:
    """Returns the rules of a setting that is True or False."""

    def check(value: object) -> bool:
        if not isinstance(value, bool):
            raise TypeError
        return value

    return _Setting("True or False (in the environment 1, true, yes, on, 0, false, no, off)", check, _parse_flag)


def _parse_flag(text: str) -> object:
    return _WORDS.get(text.strip().lower())


def _count(accepts: str, least: int, most: int) -> _Setting:
    """Returns the rules of a setting that takes a whole number from `least` to `most`.

    accepts: these values in words, for error messages.
    """

    def check(value: Any) -> int:  # Any: a value is asked what it can do; what it raises says that it cannot
        number = operator.index(value)
        if isinstance(value, bool) or not least <= number <= most:
            raise ValueError
        return number

    return _Setting(accepts, check, lambda text: whole_number(text, least, most))


def _folder(*, is_absolute: bool) -> _Setting:
    """Returns the rules of a setting that takes the path of a folder, or None.

    is_absolute: whether the path must be absolute, because programs started in other folders have to find the same one.
    """

    def check(value: Any) -> str | None:  # Any: as in `_count`
        if value is None:
            return None
        path = os.fspath(value)
        is_text = isinstance(path, str) and path and "\0" not in path and len(os.fsencode(path)) <= _LONGEST_PATH
        if not is_text or is_absolute and not os.path.isabs(path):
            raise ValueError
        return path

    accepts = (
        "the absolute path of a folder (/home/me/polyml, not ~/polyml), or None" if is_absolute else "the path of a folder, or None"
    )
    return _Setting(accepts, check, str)


def _stages() -> _Setting:
    """Returns the rules of a setting that takes names of stages and passes, as a sequence or as a text with commas."""

    def check(value: Any) -> tuple[str, ...]:  # Any: as in `_count`
        names = _split(value) if isinstance(value, str) else tuple(islice(value, _MOST_NAMES))
        if not set(names) <= {"all", "passes", *STAGES, *PASSES}:
            raise ValueError
        groups = {"all": STAGES, "passes": PASSES}
        return tuple(dict.fromkeys(each for name in names for each in groups.get(name, (name,))))

    accepts = f'stage names ({", ".join(STAGES)}) or "all", names of passes ({", ".join(PASSES)}) or "passes"'
    return _Setting(accepts, check, str)


def _split(text: str) -> tuple[str, ...]:
    return tuple(part for part in (p.strip() for p in text.split(",")) if part)


_SETTINGS = {
    "fp": _choice("strict", "reassociate", "fast"),
    "schedule": _choice("auto", "source"),
    "fusion": _choice("no", "max", "smart", "model"),
    "threads": _count("a number of threads from 1 to 256, or 0 for every core", 0, 256),
    "parallel": _flag(),
    "vectorize": _flag(),
    "tile": _flag(),
    "fallback": _choice("warn", "silent", "error"),
    "recompile": _choice("default", "fail", "plain"),
    "on_defect": _choice("simpler", "raise"),
    "tf32": _flag(),
    "compile_budget_s": _count("a whole number of seconds from 1 to 3600", 1, 3600),
    "libraries": _flag(),
    "cache": _flag(),
    "cache_dir": _folder(is_absolute=True),
    "cache_size_mb": _count("a size in megabytes, at least 1", 1, 2**40),
    "kept_memory_mb": _count("a size in megabytes, 0 or more", 0, 2**40),
    "check": _flag(),
    "debug": _stages(),
    "debug_dir": _folder(is_absolute=False),
    "traceback": _choice("short", "full"),
}
NAMES = tuple(_SETTINGS)
_PREFIX = "POLYML_"
_VARIABLES = tuple(_PREFIX + name.upper() for name in _SETTINGS)
_active: ContextVar[Mapping[str, object] | None] = ContextVar("polyml.config", default=None)
active: Callable[[], Mapping[str, object] | None] = _active.get


def check(settings: Mapping[str, object]) -> dict[str, object]:
    """Returns the settings with each value tested and in the form in which it is stored.

    Raises ConfigError for a setting that does not exist, for a value that a setting does not take, and for values that exclude one another.

    >>> check({"threads": 2, "debug": "llvm, ast"})
    {'threads': 2, 'debug': ('llvm', 'ast')}
    """
    found = {name: _checked(name, value, shown(value), name) for name, value in settings.items()}
    _check_together(found)
    return found


def _check_together(found: Mapping[str, object]) -> None:
    """Raises ConfigError for values of settings that exclude one another."""
    if found.get("tf32") and found.get("fp") == "strict":
        notes = ["tensor cores add in an order of their own, and tf32 rounds operands: leave one of the two out"]
        raise ConfigError('the settings `tf32=True` and `fp="strict"` exclude one another', notes=notes)


def environment() -> dict[str, object]:
    """Returns {setting: value} from the environment's POLYML_* variables. Raises ConfigError for an unknown variable or a wrong
    value.

    >>> isinstance(environment(), dict)
    True
    """
    return _environment(tuple(map(os.environ.get, _VARIABLES)))


@lru_cache(maxsize=1)
def _environment(values: tuple[str | None, ...]) -> dict[str, object]:
    """Returns {setting: value} from the environment's POLYML_* variables, which are read again only where `values` has changed.

    The look for misspelt variables, for which ConfigError is raised, would be too slow for every call.

    values: the texts of the known variables, in the order of _VARIABLES.
    """
    found = {}
    for variable, text in os.environ.items():
        if not variable.startswith(_PREFIX):
            continue
        name = variable[len(_PREFIX) :].lower()
        found[name] = from_text(name, text, variable)
    return found


def from_text(name: str, text: str, called: str) -> object:
    """Returns the value of a setting that a text stands for. Raises ConfigError where it does not take it, or does not exist.

    called: what the message calls the setting.

    >>> from_text("threads", "2", "POLYML_THREADS"), from_text("tile", "off", "POLYML_TILE")
    (2, False)
    """
    setting = _setting(name, called)
    try:
        value = setting.parse(text)
    except ValueError:
        raise _refused(called, shown(text), setting) from None
    return _checked(name, value, shown(text), called)


def resolve(overrides: Mapping[str, object] | None = None) -> Options:
    """Returns the settings in force here: the defaults, then the environment, the enclosing scopes and `overrides`, the later ones
    winning.

    overrides: {setting: value} of values that `check` has tested already.
    Raises ConfigError for values that exclude one another, and what `environment` raises.

    >>> resolve({"threads": 3}).threads
    3
    """
    found: dict[str, Any] = {**environment(), **(_active.get() or {}), **(overrides or {})}  # Any: each checked by its own setting
    if found.get("check"):
        found["cache"] = False  # an entry was checked when it was made, if at all
    _check_together(found)
    return Options(**found)


class scope:  # noqa: N801 (used as a function, in `with`)
    """A context manager that changes settings for all calls inside its `with` block, in this thread or task alone.

    >>> with scope(fp="strict", threads=1):
    ...     resolve().fp
    'strict'
    """

    @tracebacks.guarded
    def __init__(self, **settings: object):
        self._settings = check(settings)
        self._tokens: list[Token[Mapping[str, object] | None]] = []

    def __enter__(self) -> None:
        self._tokens.append(_active.set({**(_active.get() or {}), **self._settings}))

    def __exit__(self, *exception: object) -> None:
        _active.reset(self._tokens.pop())


def _checked(name: str, value: object, shown: str, called: str) -> object:
    """Returns a setting's value in the form in which it is stored. Raises ConfigError where the setting does not take it.

    name: the name of the setting.
    shown: the value as the message repeats it.
    called: what the message calls the setting: its name, or its environment variable.
    """
    setting = _setting(name, called)
    try:
        return setting.check(value)
    except Exception:  # the value's own class may raise anything when it is looked at
        raise _refused(called, shown, setting) from None


def _setting(name: str, called: str) -> _Setting:
    """Returns the rules of the setting `name`. Raises ConfigError, with the names that exist, where there is no such setting.

    called: what the message calls the setting: its name, or its environment variable.
    """
    if name in _SETTINGS:
        return _SETTINGS[name]
    names = _VARIABLES if called.startswith(_PREFIX) else _SETTINGS
    raise ConfigError(f"there is no setting `{called}`", notes=[f"settings: {', '.join(names)}"])


def _refused(called: str, shown: str, setting: _Setting) -> ConfigError:
    """Returns the ConfigError which says that a setting does not take a value, and what it takes.

    called: what the message calls the setting: its name, or its environment variable.
    shown: the value as the message repeats it.
    """
    return ConfigError(f"the setting `{called}` does not take {shown}", notes=[f"it takes {setting.accepts}"])


def _wants_whole_tracebacks() -> bool:
    options = resolve()
    return options.traceback == "full" or bool(options.debug)


tracebacks.ask(_wants_whole_tracebacks)
