"""Nests that hand local arrays on share a loop over chunks of rows, and the arrays keep the rows in use."""

import numpy as np
import pytest

import polyml
from polyml import machine
from polyml.codegen.ast import loops
from polyml.config import Options
from polyml.frontend.argtypes import arg_type
from polyml.frontend.parse import parse
from polyml.pipeline import compile
from polyml.runtime.arguments import Argument
from polyml.runtime.sizes import sizes_of
from polyml.schedule import chunks
from tests.frontend.define import define
from tests.schedule.pipelines import pipeline


def made(function, *args, **options):
    given = [Argument(name, value) for name, value in zip("ABC", args)]
    return compile(parse(function), tuple(map(arg_type, args)), ("C",) * len(args), Options(**options), sizes=sizes_of(given))


@pytest.mark.filterwarnings("ignore::polyml.errors.PolymlPerformanceWarning")
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("seed", range(30))
def test_chunks_compute_what_python_does(seed, threads, monkeypatch):
    monkeypatch.setattr(chunks, "_rows", lambda *_: 3 + seed % 29)
    case = pipeline(seed)
    function = define(case.text, "pipeline")
    own, other = case.inputs(seed), case.inputs(seed)
    with np.errstate(over="ignore"):
        wanted = function(*own)
    got = polyml.kernel(cache=False, threads=threads)(function)(*other)
    for one, two in zip((*own, np.asarray(0 if wanted is None else wanted)), (*other, np.asarray(0 if got is None else got))):
        np.testing.assert_array_equal(two, one, err_msg=case.text)
