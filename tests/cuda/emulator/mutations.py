"""Kernels with one mistake: a barrier or wait left out, a bound moved by one, a swizzle undone on one side.

for (int e = thread; e < 2048; ...)   ->   for (int e = EMU_MOVED(3) + thread; e < EMU_MOVED(4) + 2048; ...)
__syncthreads();                      ->   if (EMU_KEPT(5)) __syncthreads();

All mistakes of a text are compiled at once, each behind a switch, of which one at a time is on (mutant schemata: Untch, Offutt and
Harrold, ISSTA 1993).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_HEADS = ("for (", "if (", "while (", "else if (")
_COMPARISON = re.compile(r"(?<![<>=!-])(<=|>=|<|>|==)(?![<>=])\s*")
_START = re.compile(r"^(for \([\w ]+ \w+ = )")
_ARGUMENT = re.compile(r"\b((?:min|max)_index\()")
_WAITS = re.compile(r"\b(__syncthreads\(\);|__syncwarp\(\);|wait_for_copies_\d\(\);|commit_copies\(\);)")
_SWITCH = re.compile(r"EMU_MOVED\(\d+\) \+ |EMU_KEPT\(\d+\) \* ")
_SWIZZLE = re.compile(r" \^ ")


@dataclass(frozen=True)
class Mutation:
    """A Mutation is a mistake that can be switched on in a text.

    number: of the switch
    shift: by how much a bound is moved; 0: something is left out
    kind: "barrier", "wait", "bound" or "swizzle"
    line, text: where it stands in the text as it was, with @ before the bound, as in `if (i < @n)`
    kernel: the kernel's name
    only_slower: whether the mistake gives more threads the version with more tests, which runs all there is, so that nothing can go wrong
    """

    number: int
    shift: int
    kind: str
    line: int
    text: str
    kernel: str
    only_slower: bool = False

    def __str__(self) -> str:
        moved = f" behind @ moved by {self.shift}" if self.shift else " left out"
        return f"{self.kind}{moved} in line {self.line}, {self.kernel}: {self.text}"


def with_switches(text: str) -> tuple[str, tuple[Mutation, ...]]:
    """Returns a CUDA text with a switch for each mistake, and the mistakes."""
    lines, found, kernel, condition, is_version = text.splitlines(), [], "", "", False
    for k, line in enumerate(lines):
        if line.startswith('extern "C" __global__'):
            kernel = re.search(r"(\w+)\(", f"{line} {lines[k + 1]}".partition("__launch_bounds__(")[2] or line)[1]
        elif line == "}":
            kernel = ""
        elif kernel and line.startswith("    "):
            if not condition and line.lstrip().startswith(_HEADS):
                is_version = _has_else(lines, k)
                condition = line
            elif condition:
                condition += line
            lines[k] = _switched(line, (k + 1, kernel), found, bool(condition), is_version)
            if condition.count("(") == condition.count(")"):
                condition = ""
    return "\n".join(lines) + "\n", tuple(found)


def _switched(line: str, place: tuple[int, str], found: list[Mutation], is_condition: bool, is_version: bool) -> str:
    """Returns a line of a kernel with its switches, whose mutations are added to those found.

    place: the line's number, and the kernel's name. is_condition: whether it is of the head of a loop or `if`. is_version: whether this `if` chooses the first of two versions.
    """

    def moved(match: re.Match) -> str:
        switch, before = _next(found), match[0].rstrip() + " " * (match[0][-1] != "(")
        marked = _SWITCH.sub("", f"{match.string[: match.end()]}@{match.string[match.end() :]}")
        for shift in (1, -1):
            slower = is_version and (shift > 0) == before.startswith(">")
            found.append(Mutation(switch, shift, "bound", place[0], marked, place[1], slower))
        return f"{before}EMU_MOVED({switch}) + "

    def left_out(kind: str) -> str:
        switch = _next(found)
        found.append(Mutation(switch, 0, kind, place[0], line.strip(), place[1]))
        return f"EMU_KEPT({switch})"

    body = line.lstrip()
    indent, comment = line[: len(line) - len(body)], body.find(" // ")
    body, rest = (body[:comment], body[comment:]) if comment >= 0 else (body, "")
    if is_condition:
        body = _START.sub(moved, _COMPARISON.sub(moved, body))
    body = _ARGUMENT.sub(moved, body)
    body = _SWIZZLE.sub(lambda m: f" ^ {left_out('swizzle')} * ", body)
    body = _WAITS.sub(lambda m: f"if ({left_out('barrier' if m[1].startswith('__sync') else 'wait')}) {m[1]}", body)
    return indent + body + rest


def _next(found: list[Mutation]) -> int:
    return found[-1].number + 1 if found else 0


def _has_else(lines: list[str], k: int) -> bool:
    """Whether the line is the condition of the first of two versions of a kernel."""
    indent = re.match(" *", lines[k])[0]
    if not lines[k].lstrip().startswith("if ("):
        return False
    end = next((line for line in lines[k + 1 :] if re.match(rf"{indent}\S", line) and not line.startswith(f"{indent}}}")), "")
    return end.startswith(f"{indent}else")
