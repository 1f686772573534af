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
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any

from polyml.errors import ConfigError
from polyml.machines.cpu import usable_cores
from polyml.reading.input_limits import shown, whole_number

_LONGEST_PATH = 4095  # bytes that Linux takes as a path
_MOST_NAMES = 100
STAGES = ("kernel", "domain", "deps", "schedule", "ast", "llvm", "asm")
PASSES = (  # the names of `pipeline.passes`, which need no compiler to be known
    "lower", "live_ranges", "infer", "complex_parts", "resolve", "equal_sizes", "unroll_sums", "narrow_counters", "forward_substitution",
    "counter_steps", "block_argmax", "inline_arrays", "copy_coalescing", "value_arguments", "scalar_placement", "extract", "align_slices",
    "scalar_expansion", "array_expansion", "term_by_term", "index_set_splitting", "node_splitting", "traffic_fusion", "fusion", "shift",
    "time_tiling", "blocked_factorization", "contraction", "cpu_mapping", "row_chunks", "build", "index_bounds", "privatize_reductions",
    "prefetch", "mark_scans", "balance", "pack", "full_tiles", "privatize", "split_loops", "vectorize", "fold_storage", "launches",
    "launches_as_written", "gpu_build", "gpu_print",
)  # fmt: skip


@dataclass(frozen=True)
class Options:
    """The options are all settings, each with a value.

    fp: "strict" keeps the source's order of operations; "reassociate" may reorder recognised reductions and contract a*b+c; "fast"
        is LLVM's fast.
    schedule: "auto" lets the compiler choose the order of loops; "source" keeps the source's.
    fusion: which neighbouring nests become one, "no": none; "max": all that may; "smart": where the loop stays parallel and they
        use the same data; "model": those, and where the memory traffic saved is worth what it costs.
    threads: how many threads run a kernel; 0: one for every core this process may use.
    parallel, vectorize, tile: whether loops may run in parallel, as vectors, in tiles.
    fallback: what a call does that is not compiled as a whole, "warn" and "silent": it runs as plain Python, in which parts may be
        compiled, with a warning or without; "error": it raises.
    recompile: what a kernel that has compiled code does with a call that needs other code, "default": it compiles; "fail": it
        raises; "plain": it runs as plain Python.
    on_defect: what happens where the compiler itself fails, "simpler": the call goes on in a simpler form; "raise": CompileError.
    compile_budget_s: how many seconds a compilation should take at most, counted in work and not by a clock, so that the same
        budget gives the same code.
    cache: whether compiled kernels are kept on disk.
    cache_dir: the absolute path of the cache's folder; None: the user's cache folder.
    cache_size_mb: the size of the cache at most.
    check: whether every pass is checked at small sizes, with nothing taken from the cache.
    debug: the stages and passes that are dumped, of STAGES and PASSES.
    debug_dir: the folder of the dumps; None: they go to standard error.

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
    compile_budget_s: int = 10
    cache: bool = True
    cache_dir: str | None = None
    cache_size_mb: int = 512
    check: bool = False
    debug: tuple[str, ...] = ()
    debug_dir: str | None = None

    def compile_key(self) -> Options:
        """Returns the settings with all that does not change compiled code at its default. threads: 1, or 0 for any more."""
        return self._compile_key

    @cached_property
    def _compile_key(self) -> Options:
        """Returns the value of `compile_key`, made once: to count the cores of this process is to read several files."""
        kept = {
            name: getattr(self, name) for name in ("fp", "schedule", "fusion", "parallel", "vectorize", "tile", "compile_budget_s")
        }
        return Options(**kept, threads=int(self.runs_alone))

    @property
    def runs_alone(self) -> bool:
        """Says whether kernels run on one thread, whatever may be parallel."""
        return (self.threads or usable_cores()) == 1


@dataclass(frozen=True)
class _Setting:
    """A setting has a test for its values, and the words in which a message names them.

    accepts: the accepted values, in the words of a message.
    check: returns the value to store, or raises ValueError or TypeError.
    parse: makes of the text of an environment variable what `check` takes.
    """

    accepts: str
    check: Callable[[object], object]
    parse: Callable[[str], object]


def _choice(*allowed: str) -> _Setting:
    """Returns a setting that takes one of these words."""

    def check(value: object) -> str:
        if value not in allowed:
            raise ValueError
        return value

    return _Setting(", ".join(f'"{a}"' for a in allowed), check, str.strip)


_WORDS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def _flag() -> _Setting:
    """Returns a setting that is on or off."""

    def check(value: object) -> bool:
        if not isinstance(value, bool):
            raise TypeError
        return value

    return _Setting("True or False (in the environment 1, true, yes, on, 0, false, no, off)", check, _parse_flag)


def _parse_flag(text: str) -> object:
    return _WORDS.get(text.strip().lower())


def _count(accepts: str, least: int, most: int) -> _Setting:
    """Returns a setting that takes a whole number within limits."""

    def check(value: Any) -> int:  # Any: a value is asked what it can do; what it raises says that it cannot
        number = operator.index(value)
        if isinstance(value, bool) or not least <= number <= most:
            raise ValueError
        return number

    return _Setting(accepts, check, lambda text: whole_number(text, least, most))


def _folder(*, is_absolute: bool) -> _Setting:
    """Returns a setting that takes the path of a folder.

    is_absolute: whether another program, started elsewhere, has to find the folder.
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
    """Returns a setting that takes names of stages and passes."""

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
    "compile_budget_s": _count("a whole number of seconds from 1 to 3600", 1, 3600),
    "cache": _flag(),
    "cache_dir": _folder(is_absolute=True),
    "cache_size_mb": _count("a size in megabytes, at least 1", 1, 2**40),
    "check": _flag(),
    "debug": _stages(),
    "debug_dir": _folder(is_absolute=False),
}
_PREFIX = "POLYML_"
_VARIABLES = tuple(_PREFIX + name.upper() for name in _SETTINGS)
_active: ContextVar[Mapping[str, object] | None] = ContextVar("polyml.config", default=None)
active: Callable[[], Mapping[str, object] | None] = _active.get


def check(settings: Mapping[str, object]) -> dict[str, object]:
    """Returns the settings as they are stored. Raises ConfigError for a name that does not exist or a value that it does not take.

    >>> check({"threads": 2, "debug": "llvm, ast"})
    {'threads': 2, 'debug': ('llvm', 'ast')}
    """
    return {name: _checked(name, value, shown(value), name) for name, value in settings.items()}


def environment() -> dict[str, object]:
    """Returns the settings that POLYML_* variables give, by name. Raises ConfigError as `check` does.

    >>> isinstance(environment(), dict)
    True
    """
    return _environment(tuple(map(os.environ.get, _VARIABLES)))


@lru_cache(maxsize=1)
def _environment(values: tuple[str | None, ...]) -> dict[str, object]:
    """Returns the settings for these values of _VARIABLES, the same for the same: to look for misspelt variables is too slow for
    every call.
    """
    found = {}
    for variable, text in os.environ.items():
        if not variable.startswith(_PREFIX):
            continue
        name = variable[len(_PREFIX) :].lower()
        setting = _setting(name, variable)
        try:
            value = setting.parse(text)
        except ValueError:
            raise _refused(variable, shown(text), setting) from None
        found[name] = _checked(name, value, shown(text), variable)
    return found


def resolve(overrides: Mapping[str, object] | None = None) -> Options:
    """Returns the settings in force here: defaults < environment < scope < `overrides`, which are already checked.

    >>> resolve({"threads": 3}).threads
    3
    """
    found: dict[str, Any] = {**environment(), **(_active.get() or {}), **(overrides or {})}  # Any: each checked by its own setting
    if found.get("check"):
        found["cache"] = False  # an entry was checked when it was made, if at all
    return Options(**found)


class scope:  # noqa: N801 (used as a function, in `with`)
    """A scope has settings for all that is called inside a `with` block, in this thread or task alone.

    >>> with scope(fp="strict", threads=1):
    ...     resolve().fp
    'strict'
    """

    def __init__(self, **settings: object):
        self._settings = check(settings)
        self._tokens: list[Token[Mapping[str, object] | None]] = []

    def __enter__(self) -> None:
        self._tokens.append(_active.set({**(_active.get() or {}), **self._settings}))

    def __exit__(self, *exception: object) -> None:
        _active.reset(self._tokens.pop())


def _checked(name: str, value: object, shown: str, called: str) -> object:
    """Returns the value as it is stored. Raises ConfigError where the setting does not take it.

    shown: the value as the message repeats it.
    called: what the message calls the setting.
    """
    setting = _setting(name, called)
    try:
        return setting.check(value)
    except Exception:  # the value's own class may raise anything when it is looked at
        raise _refused(called, shown, setting) from None


def _setting(name: str, called: str) -> _Setting:
    """Returns the setting of a name. Raises ConfigError, with the names that exist, for any other.

    called: what the message calls it: the name itself, or the variable of the environment.
    """
    if name in _SETTINGS:
        return _SETTINGS[name]
    names = _VARIABLES if called.startswith(_PREFIX) else _SETTINGS
    raise ConfigError(f"there is no setting `{called}`", notes=[f"settings: {', '.join(names)}"])


def _refused(called: str, shown: str, setting: _Setting) -> ConfigError:
    """Returns the error that a setting does not take a value."""
    return ConfigError(f"the setting `{called}` does not take {shown}", notes=[f"it takes {setting.accepts}"])
