"""Remarks as plain data for JSON, and their difference to those of another time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from polyml.errors import ConfigError
from polyml.remarks.values import Remarks
from polyml.report.plain import plain

VERSION = 1
_LINE = re.compile(r" \(line \d+\)")
KIND = "polyml remarks"


def data(found: Remarks) -> dict[str, Any]:
    """Returns all remarks as plain data for JSON."""
    return {"kind": KIND, "version": VERSION, **plain(found)}


def read(text: str, name: str) -> dict[str, Any]:
    """Returns the data of remarks that were saved as JSON. Raises ConfigError for another text.

    name: what the text is called in messages, such as its file.
    """
    accepted = ["`polyml explain FILE.py:FUNC --format json` writes such a file"]
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise ConfigError(f"{name} is not JSON: {problem}", notes=accepted) from None
    if not isinstance(found, dict) or found.get("kind") != KIND:
        raise ConfigError(f"{name} has no remarks of polyml", notes=accepted)
    if found.get("version") != VERSION:
        raise ConfigError(f"{name} has remarks of version {found.get('version')!r}, and version {VERSION} is read", notes=accepted)
    if wrong := next(_problems(found), ""):
        raise ConfigError(f"{name} is damaged: {wrong}", notes=accepted)
    return found


def _problems(found: Mapping[str, Any]) -> Iterator[str]:
    """Yields what is wrong with the data of remarks."""
    for key in ("loops", "statements", "arrays", "notes"):
        if not isinstance(found.get(key), list):
            yield f"`{key}` is not a list"
            return
    for key in ("loops", "statements"):
        for each in found[key]:
            if not isinstance(each, dict) or not isinstance(each.get("name"), str) or not isinstance(each.get("remarks"), list):
                yield f"an entry of `{key}` has no name or no remarks"
                return
            yield from _remark_problems(each["remarks"], f"{key}: {each['name']}")
    yield from _remark_problems(found["arrays"], "arrays")


def _remark_problems(remarks: list[Any], where: str) -> Iterator[str]:
    for each in remarks:
        if not isinstance(each, dict) or not all(isinstance(each.get(key), str) for key in ("kind", "question", "text")):
            yield f"a remark of {where} has no kind, question or text"


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Returns what changed between two saved sets of remarks, a line for each remark and note; "" where nothing did.

    Loops are compared by the text of their line and their place among loops of the same text, so that moved lines are no change.
    """
    before, after = _by_key(old), _by_key(new)
    lines = []
    for key in [*before, *(key for key in after if key not in before)]:
        mine, theirs = before.get(key, {}), after.get(key, {})
        changed = [question for question in {**mine, **theirs} if mine.get(question) != theirs.get(question)]
        if not changed:
            continue
        lines.append(key if key in before and key in after else f"{key}  ({'new' if key in after else 'gone'})")
        for question in changed:
            lines += [f"  {sign} {shown}" for sign, side in (("-", mine), ("+", theirs)) if (shown := side.get(question))]
    return "\n".join(lines)


def _by_key(found: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Returns {loop, statement, "arrays" or "notes": {question: what is said}}."""
    result: dict[str, dict[str, str]] = {}
    for each in (*found["loops"], *found["statements"]):
        stem = str(each.get("written") or each.get("text") or each["name"])
        name, number = f"{stem}  # {each['name']}", 2
        while name in result:
            name, number = f"{stem}  # {each['name']} ({number})", number + 1
        result[name] = {r["question"]: _LINE.sub("", f"{r['question']} {r['kind']}: {r['text']}") for r in each["remarks"]}
    for key, texts in (("arrays", [f"{r['question']}: {r['text']}" for r in found["arrays"]]), ("notes", found["notes"])):
        result[key] = {str(text): str(text) for text in texts}
    return result
