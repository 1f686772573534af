"""Random expressions over what is in scope: subscripts, numbers and conditions."""

from __future__ import annotations

from tests.irregular.writer import Writer


def row(w: Writer, depth: int = 1) -> str:
    """Returns a subscript of an array with n elements; a row has to be in scope, or an entry."""
    if not w.scope.rows:
        return f"{w.array('columns')}[{entry(w)}]" if w.scope.entries else "0"
    one = w.rng.choice(w.scope.rows)
    form = w.rng.random()
    if w.scope.entries and form < 0.35:
        return f"{w.array('columns')}[{w.scope.entries[-1]}]"
    if depth and form < 0.5:
        return f"{w.array('rows')}[{row(w, depth - 1)}]"
    if form < 0.6:
        return w.pick(f"n - 1 - {one}", f"({one} + 1) % n", f"{one} - 1", f"min({one} + 1, n - 1)", f"{one} // 2")
    return one


def entry(w: Writer) -> str:
    """Returns a subscript of an array with m elements; an entry has to be in scope."""
    one = w.rng.choice(w.scope.entries)
    return w.pick(one, one, one, one, f"m - 1 - {one}")


def real(w: Writer, depth: int = 2) -> str:
    """Returns an expression whose value is a float, as an operand: parentheses are around what is not a single term."""
    if depth == 0 or w.chance(0.35):
        return _real_leaf(w)
    a, b = real(w, depth - 1), real(w, depth - 1)
    match w.rng.randrange(9):
        case 0 | 1 | 2:
            return f"({a} {w.pick('+', '-', '*')} {b})"
        case 3:
            return f"{w.pick('min', 'max')}({a}, {b})"
        case 4:
            return f"abs({a})"
        case 5:
            return w.pick(f"math.sqrt(abs({a}))", f"math.sqrt(abs({a}))", f"math.erfc({a})")
        case 6:
            return w.pick(f"({a} / 4.0)", f"({a} / (1.0 + abs({b})))")
        case 7:
            return f"({a} if {condition(w, 0)} else {b})"
    return f"({w.pick('0.5', '2.0', '-1.5')} * {a})"


def _real_leaf(w: Writer) -> str:
    form = w.rng.random()
    if w.scope.reals and form < 0.3:
        return w.rng.choice(w.scope.reals)
    if w.scope.entries and form < 0.45:
        return f"{w.array('values')}[{entry(w)}]"
    if (w.scope.rows or w.scope.entries) and form < 0.85:
        name = w.array("reals")
        return f"{name}[{row(w)}]"
    return w.array("real") if form < 0.92 else w.pick("0.5", "1.0", "2.0", "0.25", "-1.0")


def whole(w: Writer, depth: int = 2) -> str:
    """Returns an expression whose value is an integer, as an operand."""
    if depth == 0 or w.chance(0.3):
        return _whole_leaf(w)
    a, b = whole(w, depth - 1), whole(w, depth - 1)
    match w.rng.randrange(9):
        case 0 | 1:
            return f"({a} {w.pick('+', '-')} {b})"
        case 2:
            return f"({a} {w.pick('//', '%')} {w.rng.randint(2, 7)})"
        case 3:
            return f"({a} {w.pick('&', '|', '^')} {w.rng.choice([b, '3', '7'])})"
        case 4:
            return w.pick(f"(({a} & 15) << {w.rng.randint(0, 4)})", f"({a} >> {w.rng.randint(0, 3)})", f"({a} >> ({b} & 3))")
        case 5:
            return f"{w.pick('min', 'max')}({a}, {b})"
        case 6:
            return w.pick(f"abs({a})", f"abs({a})", f"math.gcd({a}, {w.rng.randint(0, 12)})", f"math.isqrt(abs({a}))")
        case 7:
            return f"({a} if {condition(w, 0)} else {b})"
    return f"({w.rng.randint(-3, 5)} * {a})"


def _whole_leaf(w: Writer) -> str:
    form = w.rng.random()
    numbers = (*w.scope.wholes, *w.scope.counters, *w.scope.rows, *w.scope.entries)
    if numbers and form < 0.4:
        return w.rng.choice(numbers)
    if w.scope.rows and form < 0.85:
        kind = w.pick("wholes", "wholes", "wholes", "counts", "rows")
        return f"{w.array(kind)}[{row(w)}]"
    return w.array("whole") if form < 0.92 else str(w.rng.randint(0, 5))


def condition(w: Writer, depth: int = 1) -> str:
    """Returns a condition on numbers and elements."""
    if depth and w.chance(0.3):
        return f"{_joined(w, depth)} {w.pick('and', 'or')} {_joined(w, depth)}"
    form = w.rng.random()
    if form < 0.1 and w.scope.rows:
        return f"{w.pick('', 'not ')}{w.array('flags')}[{row(w)}]"
    if form < 0.2:
        return f"{w.rng.randint(-2, 1)} {w.pick('<', '<=')} {whole(w, 0)} {w.pick('<', '<=')} {w.pick('n', '4', '7')}"
    if form < 0.55:
        return f"{real(w, 0)} {w.pick('<', '<=', '>', '>=', '!=')} {w.pick('0.5', '0.0', '1.0', w.array('real'), real(w, 1))}"
    if form < 0.75:
        return f"{whole(w, 0)} % {w.rng.randint(2, 3)} {w.pick('==', '!=')} {w.rng.randint(0, 1)}"
    return f"{whole(w, 0)} {w.pick('<', '<=', '>', '>=', '==', '!=')} {whole(w, 1)}"


def _joined(w: Writer, depth: int) -> str:
    text = condition(w, depth - 1)
    return f"not ({text})" if w.chance(0.15) else f"({text})" if " and " in text or " or " in text else text


def bare(text: str) -> str:
    """Returns an expression without parentheses around the whole of it.

    >>> bare("(a + b)"), bare("(a) + (b)")
    ('a + b', '(a) + (b)')
    """
    if not text.startswith("(") or not text.endswith(")"):
        return text
    open_ones = 0
    for position, letter in enumerate(text):
        open_ones += (letter == "(") - (letter == ")")
        if open_ones == 0 and position < len(text) - 1:
            return text
    return text[1:-1]
