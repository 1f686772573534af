"""Every refusal of the frontend, in its full text: place, line, caret, and what would be accepted."""

from __future__ import annotations

import pytest

from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from tests.frontend.define import define, message
from tests.frontend.refusals import (
    arrays,
    calls,
    constructs,
    control,
    inlined_functions,
    outside_names,
    shapes,
    type_sets,
    types,
    views,
)

CASES = [
    case
    for topic in (control, inlined_functions, outside_names, calls, constructs, shapes, types, type_sets, arrays, views)
    for case in topic.CASES
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_refusal_says_where_and_what_would_be_accepted(case):
    function = define(case.text)
    with pytest.raises(case.error) as caught:
        infer(parse(function), [arg_type(a) for a in case.args or ()])
    assert type(caught.value) is case.error
    assert message(caught.value, function) == case.message.strip("\n")


@pytest.mark.parametrize("case", [c for c in CASES if c.args is not None], ids=lambda case: case.name)
def test_what_types_refuse_can_be_parsed(case):
    assert parse(define(case.text)).name == "f"
