"""isl's sets, relations and functions in the text of a SCoP.

    set = ["[" {NAME ","} "]" "->"] "{" isl's text "}"

The parameters in front are left out where they are just those that the braces mention, in the order of the SCoP's parameters. The
objects of statements (domains, accesses, instances) mostly all have the same parameters, mentioned or not: of such an object they
are left out where they are those of the one before it in the text, followed by any others that it mentions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

import islpy as isl

from polyml import polyhedra
from polyml.polyhedra import BudgetExceeded
from polyml.reading.text_scanner import Line, Token

_WORD = re.compile(r"[A-Za-z_]\w*")
_FUNCTION = re.compile(r"\{ (\w*)\[([^\]]*)\] -> \[\(([^:;]*)\)\] \}")

_Read = TypeVar("_Read", isl.Set, isl.Map, isl.PwAff)


class IslTexts:
    """An IslTexts writes sets, relations and functions of isl into the text of a SCoP, and reads them from it.

    The list of an object's parameters, the [N, M] of "[N, M] -> { ... }", is left out where it is what a reader expects. Outside
    statements it expects the parameters that the object's text mentions; in a statement those of the last object in a
    statement (remembered here), followed by any others that the text mentions.

    parameters: all those of the SCoP, in their order
    """

    def __init__(self, parameters: Sequence[str]):
        self._parameters = tuple(parameters)
        self._before: tuple[str, ...] = ()  # the parameters of the last object of a statement

    def written(self, value: isl.Set | isl.Map | isl.PwAff) -> str:
        """Returns the text of an object outside statements; it has no list of parameters where they are those that it mentions."""
        return self._without_names(value, self._mentioned)

    def written_after(self, value: isl.Set | isl.Map | isl.PwAff) -> str:
        """Returns the text of an object in a statement, and remembers its parameters: those of the next may follow from them."""
        text = self._without_names(value, self._following)
        self._before = polyhedra.parameter_names(value)
        return text

    def _without_names(self, value: isl.Set | isl.Map | isl.PwAff, usual: Callable[[str], tuple[str, ...]]) -> str:
        text = str(value).replace("{  :", "{ :")
        braces = text[text.index("{") :]
        names = polyhedra.parameter_names(value)
        return braces if names == usual(braces) else f"[{', '.join(names)}] -> {braces}"

    def read(self, kind: type[_Read], line: Line, what: str) -> _Read:
        """Returns the object that is next on the line and is not part of a statement. Raises TextError where isl cannot parse it.

        kind: isl.Set, isl.Map or isl.PwAff
        what: a name for such an object in the message, such as "a set"
        """
        token = line.token
        text = self._named(line.braces(what), self._mentioned)
        return self._made(kind, text, lambda: line.refused(f"isl cannot read this as {what}", token=token))

    def read_after(self, kind: type[_Read], line: Line, what: str) -> _Read:
        """Returns the object that is next on the line and is part of a statement, and remembers its parameters.

        Raises TextError where isl cannot parse it.

        kind: isl.Set, isl.Map or isl.PwAff
        what: a name for such an object in the message, such as "a set"
        """
        token = line.token
        text = self._named(line.braces(what), self._following)
        found = self._made(kind, text, lambda: line.refused(f"isl cannot read this as {what}", token=token))
        self._before = polyhedra.parameter_names(found)
        return found

    def _made(self, kind: type[_Read], text: str, wrong: Callable[[], Exception]) -> _Read:
        try:
            return kind(text)
        except (isl.Error, BudgetExceeded):
            raise wrong() from None

    def expression(self, value: isl.PwAff, name: str, iterators: Sequence[str]) -> str:
        """Returns the text of a function: `{e}` for { name[iterators] -> [(e)] }, and isl's full text for any other function."""
        text = self.written(value)
        found = _FUNCTION.fullmatch(text)
        if found and (found[1], found[2]) == (name, ", ".join(iterators)) and self._mentioned(found[3]) == self._mentioned(text):
            return f"{{{found[3]}}}"
        return text

    def read_expression(self, line: Line, name: str, iterators: Sequence[str]) -> isl.PwAff:
        """Returns the function that is next on the line, as `expression` writes it. Raises TextError where isl cannot parse it."""
        token, text = line.token, line.braces("an affine expression in braces")
        if "->" not in text:
            text = f"{{ {name}[{', '.join(iterators)}] -> [({text[1:-1]})] }}"
        text = self._named(text, self._mentioned)
        return self._made(isl.PwAff, text, lambda: line.refused("isl cannot read this as an affine expression", token=token))

    def simple(self, line: Line, token: Token) -> isl.PwAff:
        """Returns { [] -> [(N)] } for a token that is a parameter or a number.

        Raises TextError where there is no parameter of that name.

        line: where the token was taken from, for the message
        """
        text = self._named(f"{{ [] -> [({token.text})] }}", self._mentioned)
        if token.kind == "name" and token.text not in self._parameters:
            raise line.refused(
                f"there is no parameter `{token.text}`", (f"parameters: {', '.join(self._parameters) or 'none'}",), token
            )
        return self._made(isl.PwAff, text, lambda: line.wrong("a parameter or a number", token))

    def _mentioned(self, text: str) -> tuple[str, ...]:
        words = set(_WORD.findall(text))
        return tuple(name for name in self._parameters if name in words)

    def _following(self, text: str) -> tuple[str, ...]:
        """Returns the parameters of an object in a statement whose text has no list of them.

        They are those of the object in a statement before it, followed by any others that the text mentions.
        """
        return tuple(dict.fromkeys((*self._before, *self._mentioned(text))))

    def _named(self, text: str, usual: Callable[[str], tuple[str, ...]]) -> str:
        """Returns an object's text with its list of parameters in front, "[N] -> { ... }", also where it was left out.

        usual: returns the parameters of a text that has no list of them
        """
        names = usual(text) if text.startswith("{") else ()
        return f"[{', '.join(names)}] -> {text}" if names else text
