"""Texts that no reader should trust: numbers, mutations of what is right, and bytes."""

from __future__ import annotations

import re
from random import Random

NUMBERS = (
    "", "0", "-0", "-1", "-3", "+5", "00", "1.5", "1e9", "1e400", "nan", "inf", "-inf", "1__0", "_1", "1_", "0x10", "0b1", "1j", "²", "٣",
    "½", "１２", "𝟏", "true", "None", " 7 ", "7\n", "1 2", "1,", ",1", "2147483647", "2147483648", "4294967296",
    "9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551616", "1" + "0" * 30, "9" * 100,
    "9" * 309, "9" * 5000, "-" + "9" * 5000, "0" * 5000 + "3", "0." + "0" * 4000 + "1", "1e" + "9" * 30, "2**40", "N//0", "N%0", "1<<60",
    "N**N", "(N)", "-N", "~1",
)  # fmt: skip
BITS = (
    "\0", "\x01", "\x1b[31m", "\n", "\r\n", "\t", "\u2028", "\u202e", "\ufeff", "\ud800", "\udcff", "é", "😀", "\\", "'", '"', "'''", "`", "$(x)",
    "{", "}", "(", ")", "[", "]", ":", ";", ",", "=", "==", "-", "--", "%s", "{0}", "/", "../", "*", "#", "|", "&", "<", ">", "@", ".", "...", " ",
)  # fmt: skip
NESTED = ("(", "[", "{", "-", "~", "not ", "1+", "((1)*", "lambda:", "f(", "[[", "{ [", "exists (", "floor(", "{0:", "x=")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_TOKEN = re.compile(r"\w+|[^\w\s]|\s+")
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def mutated(text: str, rng: Random, others: tuple[str, ...] = ()) -> str:
    """`text` with one to three things done to it. others: texts of the same kind, of which pieces are spliced in."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        text = rng.choice(_MUTATIONS)(text, rng, others)
    return text


def in_bytes(text: str, rng: Random) -> bytes:
    """As a file has it: mostly UTF-8, at times with bytes that are none."""
    content = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.1 and content:
        place = rng.randrange(len(content))
        content = content[:place] + rng.randbytes(rng.choice((1, 1, 8, 1000))) + content[place + rng.choice((0, 1)) :]
    return content


def _a_number(text: str, rng: Random, others: tuple[str, ...]) -> str:
    found = [*_NUMBER.finditer(text)]
    if not found:
        return text + rng.choice(NUMBERS)
    chosen = rng.choice(found)
    return text[: chosen.start()] + rng.choice(NUMBERS) + text[chosen.end() :]


def _a_token(text: str, rng: Random, others: tuple[str, ...]) -> str:
    tokens = _TOKEN.findall(text)
    if not tokens:
        return rng.choice(BITS)
    place = rng.randrange(len(tokens))
    pool = _TOKEN.findall(rng.choice(others)) if others and rng.random() < 0.5 else tokens
    new = rng.choice(("", tokens[place] * 2, rng.choice(pool or tokens), rng.choice(BITS), rng.choice(NUMBERS)))
    return "".join((*tokens[:place], new, *tokens[place + 1 :]))


def _two_tokens(text: str, rng: Random, others: tuple[str, ...]) -> str:
    tokens = _TOKEN.findall(text)
    if len(tokens) < 2:
        return text
    first, second = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    tokens[first], tokens[second] = tokens[second], tokens[first]
    return "".join(tokens)


def _an_insertion(text: str, rng: Random, others: tuple[str, ...]) -> str:
    place = rng.randint(0, len(text))
    return text[:place] + rng.choice(BITS) * rng.choice((1, 1, 1, 3, 5000)) + text[place:]


def _nesting(text: str, rng: Random, others: tuple[str, ...]) -> str:
    """Around a number, a line or all of it; mostly closed again."""
    opening, depth = rng.choice(NESTED), rng.choice((2, 30, 90, 250, 1200, 100_000))
    closing = "".join(_CLOSING.get(each, "") for each in reversed(opening)) if rng.random() < 0.8 else ""
    found = [*_NUMBER.finditer(text)]
    start, end = rng.choice(found).span() if found and rng.random() < 0.7 else (0, len(text))
    return text[:start] + opening * depth + text[start:end] + closing * depth + text[end:]


def _repetition(text: str, rng: Random, others: tuple[str, ...]) -> str:
    if rng.random() < 0.5:
        return rng.choice(("", ",", ":", " ", "\n")).join([text] * rng.choice((2, 3, 30, 1000)))
    start, end = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
    return text[:end] + text[start:end] * rng.choice((1, 2, 500)) + text[end:]


def _truncation(text: str, rng: Random, others: tuple[str, ...]) -> str:
    place = rng.randint(0, len(text))
    return rng.choice((text[:place], text[place:], ""))


def _a_line(text: str, rng: Random, others: tuple[str, ...]) -> str:
    """Gone, doubled, or where another one is."""
    lines = text.splitlines(keepends=True)
    if not lines:
        return text
    place = rng.randrange(len(lines))
    moved = lines.pop(place)
    for _ in range(rng.choice((0, 1, 2))):
        lines.insert(rng.randint(0, len(lines)), moved)
    return "".join(lines)


def _a_splice(text: str, rng: Random, others: tuple[str, ...]) -> str:
    other = rng.choice(others) if others else text[::-1]
    return text[: rng.randint(0, len(text))] + other[rng.randint(0, len(other)) :]


def _digits(text: str, rng: Random, others: tuple[str, ...]) -> str:
    """Those of another script."""
    zero = rng.choice((0x660, 0x966, 0xFF10, 0x1D7CE))
    return re.sub(r"\d", lambda digit: chr(zero + int(digit[0])), text)


_MUTATIONS = (
    _a_number, _a_number, _a_number, _a_token, _a_token, _two_tokens, _an_insertion, _nesting, _repetition, _truncation, _a_line,
    _a_splice, _digits,
)  # fmt: skip
