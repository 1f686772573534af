"""What every pass is given and makes, of kernels compiled with tiles and caches so small that small sizes have several tiles."""

from contextlib import contextmanager

import islpy as isl
import numpy as np
import pytest

from polyml import pass_manager
from polyml.checks.watcher import Watcher
from polyml.codegen.ir.program import Program
from polyml.config import Options
from polyml.errors import PassError
from polyml.frontend import syntax
from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.model.core.dependence import Dependences
from polyml.model.core.nest import Nest
from polyml.model.core.scop import Scop
from polyml.pipeline import compile as pipeline
from polyml.pipeline import passes
from polyml.runtime.storage import size_classes
from tests.codegen.forms import small_machine, small_tiles


class Collector(Watcher):
    """Takes what each pass was given and what it made, and checks it only where the pass is asked for. What leads to a SCoP is
    checked together, where `extract` is asked for.
    """

    def __init__(self, checked=()):
        super().__init__()
        self.seen, self._checked = [], checked

    def passed(self, name, before, after):
        self.seen.append((name, before, after))
        known = isinstance(after, Dependences) or name == "reductions" or not isinstance(before, Program | Scop | isl.Schedule)
        if name in self._checked or known and (name != "extract" or "extract" in self._checked):
            super().passed(name, before, after)


@contextmanager
def small():
    """Tiles, caches and copies for small sizes."""
    with pytest.MonkeyPatch.context() as patch:
        small_machine(patch)
        small_tiles(patch)
        for name in (
            "LEAST_USES",
            "LEAST_USES_SIZED",
            "LEAST_ALIASED_USES",
            "LEAST_LARGE_ARRAY_USES",
            "LEAST_PRODUCT_USES",
            "LEAST_TRANSPOSED_USES",
        ):
            patch.setattr(f"polyml.codegen.passes.packing.choose.{name}", 2)
        patch.setattr("polyml.codegen.passes.packing.choose.fits", lambda *_: True)
        yield patch


def compiled(function, arguments, checked=(), **options):
    """(pass, before, after) in turn, of the function compiled for calls like this one. Raises PassError for what is checked and wrong."""
    collector = Collector(checked)
    types = tuple(arg_type(value, name) for name, value in arguments.items())
    arrays = {name: value.shape for name, value in arguments.items() if isinstance(value, np.ndarray)}
    layouts = ("C",) * len(arrays)
    with pass_manager.watched(collector):
        request = pipeline.CompileRequest(types, layouts, Options(**options), sizes=size_classes.sizes_of(arrays))
        pipeline.compile(parse(function), request)
    return collector.seen


def finding(name, function, arguments, **options):
    """What the checker says of one pass in this compilation; None for nothing."""
    try:
        compiled(function, arguments, (name,), **options)
    except PassError as problem:
        return problem
    return None


def planted(name, mutate):
    """The pass with a bug: what it makes is changed by `mutate`, which takes what it was given as well."""
    right = passes.NAMES[name].function

    def wrong(before, *given, **named):
        return mutate(right(before, *given, **named), before)

    return pass_manager.replaced({name: wrong})


def changed(seen):
    """The passes on kernels, nests and SCoPs that made something else than they were given."""
    kinds = (syntax.Kernel, Nest, Scop)
    return {
        name for name, before, after in seen if isinstance(after, kinds) and type(before) is type(after) and _differ(before, after)
    }


def _differ(before, after):
    return before is not after if isinstance(after, Scop) else before != after
