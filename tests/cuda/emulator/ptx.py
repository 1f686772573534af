"""Inline PTX as calls of functions that g++ can compile.

asm volatile("cvt.rna.tf32.f32 %0, %1;" : "=r"(to) : "f"(from));   ->   { ptx_cvt_rna_tf32_f32(to, from); }
"""

from __future__ import annotations

import re

_ASM = re.compile(r"\b(?:asm|__asm__)\s*(?:volatile|__volatile__)?\s*\(")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_OPERAND = re.compile(r"%(\d+)|(-?(?:0[xX][0-9a-fA-F]+|\d+))")
_IGNORED = (".shared::cta", ".L2::64B", ".L2::128B", ".L2::256B")  # qualifiers without a meaning here


def as_calls(text: str) -> str:
    """Returns a CUDA text with a call in place of each instruction of inline PTX; lines keep their numbers.

    Raises ValueError for a statement that is not a list of plain instructions.

    >>> as_calls('asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory");')
    '{ ptx_cp_async_wait_group(N); }'
    >>> as_calls('asm("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(at));')
    '{ ptx_ldmatrix_sync_aligned_m8n8_x2_shared_b16(r[0], r[1], at); }'
    """
    parts, position = [], 0
    while found := _ASM.search(text, position):
        end = _closing(text, found.end())
        inside = text[found.end() : end]
        after = re.compile(r"\s*;").match(text, end + 1)
        if after is None:
            raise ValueError(f"no `;` after {text[found.start() : end + 1]!r}")
        lines = text.count("\n", found.start(), after.end())
        parts += [text[position : found.start()], "{ ", " ".join(_calls(inside)), " }", "\n" * lines]
        position = after.end()
    return "".join([*parts, text[position:]])


def _calls(inside: str) -> list[str]:
    """Returns the calls of one statement, whose text between the parentheses is given."""
    sections = _split(inside, ":")
    template = "".join(_STRING.findall(sections[0])).replace("\\n", " ").replace("\\t", " ")
    operands = [_expression(each) for section in sections[1:3] for each in _split(section, ",") if each.strip()]
    calls = []
    for instruction in filter(None, (each.strip() for each in template.split(";"))):
        name, _, rest = instruction.partition(" ")
        if name.startswith("@") or name.endswith(":"):
            raise ValueError(f"the emulator has no predicates or labels: {instruction}")
        for ignored in _IGNORED:
            name = name.replace(ignored, "")
        given = [operands[int(number)] if number else literal for number, literal in _OPERAND.findall(rest)]
        calls.append(f"ptx_{re.sub('[^A-Za-z0-9]', '_', name)}({', '.join(given)});")
    return calls


def _expression(operand: str) -> str:
    """Returns the C expression of an operand such as `"=r"(d[0])`."""
    found = _STRING.match(operand.strip())
    if found is None:
        raise ValueError(f"not an operand of inline PTX: {operand!r}")
    text = operand.strip()[found.end() :].strip()
    return text[1:-1]


def _split(text: str, separator: str) -> list[str]:
    """Returns the parts of a text between separators that stand outside of parentheses, brackets and strings."""
    parts, depth, start, quoted = [], 0, 0, False
    for k, character in enumerate(text):
        if character == '"' and text[k - 1 : k] != "\\":
            quoted = not quoted
        elif quoted:
            continue
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == separator and depth == 0:
            parts.append(text[start:k])
            start = k + 1
    return [*parts, text[start:]]


def _closing(text: str, start: int) -> int:
    """Returns where the parenthesis ends that was opened just before `start`."""
    depth, quoted = 1, False
    for k in range(start, len(text)):
        if text[k] == '"' and text[k - 1] != "\\":
            quoted = not quoted
        elif not quoted:
            depth += {"(": 1, ")": -1}.get(text[k], 0)
            if depth == 0:
                return k
    raise ValueError(f"an asm statement has no end: {text[start : start + 80]!r}")
