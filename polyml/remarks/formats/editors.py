"""Remarks for editors and other tools: lines `file:line:column: remark: ...` as compilers print them, and SARIF."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from polyml.reasons import REASONS
from polyml.remarks.values import (
    ANALYSIS,
    MISSED,
    OF_ARRAYS,
    PASSED,
    QUESTIONS,
    End,
    LoopRemarks,
    Place,
    PlainPython,
    Remark,
    Remarks,
    StatementRemarks,
)

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_KINDS = {PASSED: "pass", MISSED: "fail", ANALYSIS: "informational"}
_RULES = {
    "parallel": "iterations of a loop go to threads",
    "vectorized": "iterations of a loop are lanes of vectors",
    "tiled": "a loop is cut into tiles",
    "fused": "a loop is one with another loop",
    "interchanged": "a loop stands elsewhere in its nest",
    "storage": "an array has no memory of its own",
    "joined": "an assignment is a part of another one, or is stored over",
    "symmetric": "half of a result is copied from the other half",
    "sizes alike": "code is for sizes that are equal",
    "packed": "tiles of an array are copied next to each other",
    "partial results": "each thread has partial results of an array",
    "folded": "an array has memory for a part of it, in turn",
    "shared": "arrays have one memory in turn",
    "memory": "how much memory local arrays take",
    "reduction": "updates of an element may run in any order",
}


def gcc(found: Remarks, start: Place) -> str:
    """Returns the remarks as lines `file:line:column: remark: text [kind: question]`, with further lines for the two references of a
    dependence.

    start: the place of the kernel, for remarks that are on no line of their own.
    """
    lines = [line for on, remark in found.all() for line in _gcc_lines(on, remark, start)]
    for each in found.python:
        lines.append(
            f"{each.place or start}: remark: runs as plain Python: {each.text}; change: {each.advice} [missed: {each.code}]"
        )
    return "\n".join(lines)


def _gcc_lines(on: LoopRemarks | StatementRemarks | None, remark: Remark, start: Place) -> Iterator[str]:
    place = start if on is None or on.place is None else on.place
    name = f"`{on.name}`: " if on is not None else ""
    change = f"; change: {remark.advice}" if remark.advice else ""
    yield f"{place}: remark: {name}{_negated(remark)}: {remark.text}{change} [{remark.kind}: {remark.question}]"
    if remark.conflict is not None:
        for end, what in ((remark.conflict.source, "first"), (remark.conflict.sink, "second")):
            if end.place is not None:
                yield f"{end.place}: note: the {what} reference, {_told(end, remark)}"


def _negated(remark: Remark) -> str:
    return f"not {remark.question}" if remark.kind == MISSED else remark.question


def _told(end: End, remark: Remark) -> str:
    element = remark.conflict.element if remark.conflict is not None else ""
    return f"{end.instance} {'writes' if end.writes else 'reads'} {element}"


def sarif(found: Remarks, start: Place, version: str) -> dict[str, Any]:
    """Returns the remarks as a log of SARIF 2.1.0 (OASIS, 2020), for JSON.

    start: the place of the kernel, for remarks that are on no line of their own. version: that of polyml.
    """
    rules = [*dict.fromkeys((*QUESTIONS, *OF_ARRAYS, *(remark.question for _, remark in found.all())))]
    rules = [*(rule for rule in rules if rule in _RULES), *dict.fromkeys(each.code for each in found.python)]
    driver = {
        "name": "polyml",
        "version": version,
        "rules": [{"id": rule, "shortDescription": {"text": _RULES.get(rule) or REASONS[rule][0]}} for rule in rules],
    }
    results = [_result(on, remark, start, rules) for on, remark in found.all()]
    results += [_refusal(each, start, rules) for each in found.python]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(on: LoopRemarks | StatementRemarks | None, remark: Remark, start: Place, rules: list[str]) -> dict[str, Any]:
    place = start if on is None or on.place is None else on.place
    change = f" Change: {remark.advice}." if remark.advice else ""
    made: dict[str, Any] = {
        "ruleId": remark.question,
        "ruleIndex": rules.index(remark.question),
        "kind": _KINDS[remark.kind],
        "level": "warning" if remark.kind == MISSED else "none",
        "message": {"text": f"{_negated(remark)}: {remark.text}.{change}"},
        "locations": [_location(place)],
    }
    if remark.conflict is not None:
        ends = [end for end in (remark.conflict.source, remark.conflict.sink) if end.place is not None]
        made["relatedLocations"] = [
            {**_location(end.place), "id": number, "message": {"text": _told(end, remark)}}
            for number, end in enumerate(ends)
            if end.place is not None
        ]
    return made


def _refusal(each: PlainPython, start: Place, rules: list[str]) -> dict[str, Any]:
    """Returns what runs as plain Python as a result of SARIF."""
    return {
        "ruleId": each.code,
        "ruleIndex": rules.index(each.code),
        "kind": "fail",
        "level": "warning",
        "message": {"text": f"runs as plain Python: {each.text}. Change: {each.advice}."},
        "locations": [_location(each.place or start)],
    }


def _location(place: Place) -> dict[str, Any]:
    path = Path(place.file)
    uri = path.as_uri() if path.is_absolute() else path.as_posix()
    return {
        "physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": place.line, "startColumn": place.column}}
    }
