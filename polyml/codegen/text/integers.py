"""The text of quasi-affine expressions and conditions, which are read back as they were written, canonical or not.

    lin   = ["-"] term {("+" | "-") term}       term = INTEGER | [INTEGER "*"] atom
    atom  = NAME | "((" lin ")" "//" INTEGER ")" | ("min" | "max") "(" lin {"," lin} ")" | "(" lin "if" cond "else" lin ")"
    cond  = part {"and" part} | part {"or" part}
    part  = lin (">=" | "==") lin | "True" | "False" | ("all" | "any") "(" cond ")" | "(" cond ")"

A comparison is of the difference with zero, and its terms are in the order of `linear`: any other one is written `lin >= 0`. `all(c)`
and `any(c)` are conjunctions and disjunctions of one part.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from polyml.quasi_affine.affine import Affine, Atom, Choice, Compare, Condition, Extremum, FloorDiv, Logic, linear
from polyml.reading.text_scanner import Line, Token

_ONE = {"and": "all", "or": "any"}
_NONE = {"and": "True", "or": "False"}
_MOST_NESTED = 100  # expressions in one another that are read


def text(value: Affine) -> str:
    """Returns the text of an expression, which `IntegerReader.lin` reads back."""
    parts = [(" - " if c < 0 else " + ") + (f"{abs(c)}*" if abs(c) != 1 else "") + _atom(atom) for atom, c in value.terms]
    if value.constant or not parts:
        parts.append((" - " if value.constant < 0 else " + ") + str(abs(value.constant)))
    whole = "".join(parts)
    return whole[3:] if whole.startswith(" + ") else "-" + whole[3:]


def _atom(atom: Atom) -> str:
    match atom:
        case FloorDiv():
            return f"(({text(atom.operand)}) // {atom.divisor})"
        case Extremum():
            return f"{atom.op}({', '.join(map(text, atom.operands))})"
        case Choice():
            return f"({text(atom.then)} if {condition_text(atom.condition)} else {text(atom.orelse)})"
    return atom


def condition_text(value: Condition) -> str:
    """Returns the text of a condition, which `IntegerReader.condition` reads back."""
    if isinstance(value, Logic):
        if len(value.parts) < 2:
            return f"{_ONE[value.op]}({condition_text(value.parts[0])})" if value.parts else _NONE[value.op]
        return f" {value.op} ".join(_part(part) for part in value.parts)
    left, right = value.expr, Affine()
    if linear(left.terms, left.constant) == left:
        right = Affine(max(-left.constant, 0), tuple((a, -c) for a, c in left.terms if c < 0))
        left = Affine(max(left.constant, 0), tuple((a, c) for a, c in left.terms if c > 0))
    return f"{text(left)} {value.op} {text(right)}"


def _part(value: Condition) -> str:
    whole = condition_text(value)
    return f"({whole})" if isinstance(value, Logic) and len(value.parts) > 1 else whole


class IntegerReader:
    """A reader of the expressions and conditions in a line. Its methods raise TextError for a text that does not follow the
    grammar.

    names: the variables and parameters that expressions may contain; None: any.
    """

    def __init__(self, line: Line, names: Collection[str] | None = None):
        self._line, self._names, self._nested = line, names, 0

    def lin(self) -> Affine:
        """Reads an expression, which is next in the line, and returns it."""
        line = self._line
        found = self._signed(-1 if line.accepts("-") else 1)
        terms, constant = found.terms, found.constant
        while sign := line.accepts("+", "-"):
            found = self._signed(-1 if sign == "-" else 1)
            terms, constant = terms + found.terms, constant + found.constant
        return Affine(constant, terms)

    def _signed(self, sign: int) -> Affine:
        """Reads a term: an integer; or a name, a quotient, a minimum or maximum, or a conditional value, each with or without a
        coefficient. Returns the term multiplied by the sign.
        """
        line = self._line
        if line.token.kind != "number":
            return Affine(0, ((self._within(self._atom), sign),))
        number = sign * line.integer()
        return Affine(0, ((self._within(self._atom), number),)) if line.accepts("*") else Affine(number)

    def _within(self, read: Callable[[], Atom]) -> Atom:
        """Returns what `read` reads. Raises TextError where too many expressions are nested."""
        self._nested += 1
        if self._nested > _MOST_NESTED:
            raise self._line.refused(f"more than {_MOST_NESTED} expressions are in one another")
        found = read()
        self._nested -= 1
        return found

    def _atom(self) -> Atom:
        line = self._line
        if line.is_at("min", "max") and line.peek(1).is_one_of("("):
            op = line.take().text
            line.take()
            return Extremum(op, line.listed(self.lin, ")"))
        if line.accepts("("):
            return self._division() if self._is_division() else self._choice()
        return self._name()

    def _name(self) -> str:
        token = self._line.token
        name = self._line.name("an integer, a name, `min`, `max` or `(`")
        if self._names is not None and name not in self._names:
            known = ", ".join(sorted(self._names)) or "none"
            raise self._line.refused(f"there is no `{name}` here", (f"names that there are: {known}",), token)
        return name

    def _is_division(self) -> bool:
        """Returns whether the parenthesis that was just read opens a quotient, as in `((a) // 2)`."""
        return self._line.is_at("(") and self._line.peek(self._closing() + 1).is_one_of("//")

    def _closing(self) -> int:
        """Returns how many tokens after the opening parenthesis, which is the next token, the parenthesis that closes it comes."""
        depth = place = 0
        while (token := self._line.peek(place)).kind != "end":
            depth += token.is_one_of("(") - token.is_one_of(")")
            if depth == 0:
                break
            place += 1
        return place

    def _division(self) -> FloorDiv:
        line = self._line
        line.expect("(")
        operand = self.lin()
        line.expect(")")
        line.expect("//")
        token, divisor = line.token, line.integer("a divisor")
        if divisor <= 0:
            raise line.wrong("a divisor that is positive", token)
        line.expect(")")
        return FloorDiv(operand, divisor)

    def _choice(self) -> Choice:
        then = self.lin()
        self._line.expect("if")
        condition = self.condition()
        self._line.expect("else")
        orelse = self.lin()
        self._line.expect(")")
        return Choice(condition, then, orelse)

    def condition(self) -> Condition:
        """Reads a condition, which is next in the line, and returns it."""
        parts = [self._condition_part()]
        op = self._line.accepts("and", "or")
        if not op:
            return parts[0]
        parts.append(self._condition_part())
        while self._line.accepts(op):
            parts.append(self._condition_part())
        return Logic(op, tuple(parts))

    def _condition_part(self) -> Condition:
        line = self._line
        if word := line.accepts("True", "False"):
            return Logic("and" if word == "True" else "or", ())
        if line.is_at("all", "any") and line.peek(1).is_one_of("("):
            op = "and" if line.take().text == "all" else "or"
            return Logic(op, (self._enclosed(),))
        if line.is_at("(") and self._is_condition():
            return self._enclosed()
        left = self.lin()
        op = line.expect(">=", "==")
        right = self.lin()
        return Compare(op, left if right == Affine() else left - right)

    def _enclosed(self) -> Condition:
        self._nested += 1
        if self._nested > _MOST_NESTED:
            raise self._line.refused(f"more than {_MOST_NESTED} conditions are in one another")
        self._line.expect("(")
        found = self.condition()
        self._line.expect(")")
        self._nested -= 1
        return found

    def _is_condition(self) -> bool:
        """Returns whether the parentheses that the next token opens enclose a condition, not an expression."""
        depth, words = 0, set[str]()
        for place in range(self._closing()):
            token: Token = self._line.peek(place)
            depth += token.is_one_of("(") - token.is_one_of(")")
            if depth == 1:
                words.add(token.text)
        return "if" not in words and not words.isdisjoint((">=", "==", "and", "or", "True", "False"))
