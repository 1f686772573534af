"""Docstrings of polyml as Markdown: sentences, lines `name: text` for arguments and fields, pictures of loops, and examples."""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polyml

_FIELD = re.compile(r"((?:\*{0,2}[a-z_]\w*|[A-Z])(?:, \*{0,2}(?:[a-z_]\w*|[A-Z]))*): (.*)")

_ERRORS = re.compile(
    rf"(?<![`.\w])({'|'.join(name for name in polyml.__all__ if name.endswith(('Error', 'Warning')) or name == 'IllegalSchedule')})(?![`\w])"
)


def resolved(name: str) -> object:
    """Returns what a dotted name such as "polyml.Kernel.report" stands for: what a package has under a name, before a module of that name.

    Raises AttributeError or ModuleNotFoundError if there is no such thing.

    >>> resolved("polyml.ops.conv2d").__class__.__name__
    'function'
    """
    first, *parts = name.split(".")
    return _inside(importlib.import_module(first), parts)


def _inside(value: object, parts: Sequence[str]) -> object:
    """Returns what the parts of a dotted name stand for inside a value."""
    if not parts:
        return value
    first, *rest = parts
    try:
        found = inspect.getattr_static(value, first) if inspect.isclass(value) else getattr(value, first)
        return _inside(found, rest)
    except AttributeError:
        if not inspect.ismodule(value):
            raise
        return _inside(importlib.import_module(f"{value.__name__}.{first}"), rest)


def members(owner: type) -> Iterator[tuple[str, object]]:
    """Yields (name, method or property) of the names of a class without an underscore, but for those of Python's own classes; of an error
    those that it adds.
    """
    of_python = {name for base in owner.__mro__ if base.__module__ == "builtins" for name in vars(base)}
    for name, value in inspect.getmembers(owner):
        inherited = name in of_python or issubclass(owner, Exception) and name not in vars(owner)
        if not name.startswith("_") and not inherited and (callable(value) or isinstance(value, property)):
            yield name, inspect.getattr_static(owner, name)


def role(value: object) -> str:
    """Returns the word of Sphinx's Python domain for a value.

    >>> role(len), role(ValueError), role(dict)
    ('function', 'exception', 'class')
    """
    if inspect.ismodule(value):
        return "module"
    if inspect.isclass(value):
        return "exception" if issubclass(value, Exception) else "class"
    return "property" if isinstance(value, property) else "function"


@dataclass(frozen=True)
class _Plain:
    """An annotation as its text, which `inspect` would show in quotes."""

    text: str

    def __repr__(self) -> str:
        return self.text


def signature(value: object) -> str:
    """Returns the arguments of a function or a method as a text; "" of a class, as users have its values from polyml.

    >>> def product(x: int, by: str = "") -> list: ...
    >>> signature(product)
    "(x: int, by: str = '') -> list"
    """
    value = getattr(value, "__func__", value)
    if isinstance(value, property) or inspect.isclass(value) or not callable(value):
        return ""
    found = inspect.signature(value)
    kept = [p.replace(annotation=_plain(p.annotation)) for p in found.parameters.values() if p.name not in ("self", "cls")]
    shown = str(found.replace(parameters=kept, return_annotation=_plain(found.return_annotation)))
    return shown.replace("mappingproxy({})", "{}")


def _plain(annotation: object) -> object:
    if annotation is inspect.Parameter.empty:
        return annotation
    return _Plain(annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation)))


def markdown(docstring: str) -> str:
    """Returns a docstring as Markdown.

    >>> print(markdown("Adds.\\n\\nx, y: numbers,\\n    both\\nRaises E.\\n\\n    a -> b"))
    Adds.
    <BLANKLINE>
    * `x`, `y`: numbers, both
    <BLANKLINE>
    Raises E.
    <BLANKLINE>
    ```text
    a -> b
    ```
    """
    return "\n\n".join(part for paragraph in _paragraphs(docstring) for part in _parts(paragraph))


def _paragraphs(docstring: str) -> Iterator[list[str]]:
    """Yields the paragraphs of a docstring as lists of lines; examples and pictures that stand one behind the other are one."""
    held: list[str] = []
    for chunk in re.split(r"\n\s*\n", inspect.cleandoc(docstring)):
        lines = chunk.split("\n")
        if held and _kind(held) in ("pycon", "text") and _kind(held) == _kind(lines):
            held += ["", *lines]
            continue
        if held:
            yield held
        held = lines
    yield held


def _linked(prose: str) -> str:
    """Returns prose in which the names of polyml's errors and warnings are links to their entries.

    >>> _linked("Raises ConfigError for `ConfigError`.")
    'Raises {py:exc}`ConfigError <polyml.ConfigError>` for `ConfigError`.'
    """
    return _ERRORS.sub(r"{py:exc}`\1 <polyml.\1>`", prose)


def _kind(lines: list[str]) -> str:
    if lines[0].startswith(">>> "):
        return "pycon"
    picture = lines[0].startswith("for ") or all(line.startswith("    ") for line in lines)
    return "text" if picture else "prose"


def _parts(lines: list[str]) -> Iterator[str]:
    """Yields the Markdown of a paragraph: a fence, or prose and lists of arguments in turn."""
    kind = _kind(lines)
    if kind != "prose":
        yield f"```{kind}\n{textwrap.dedent(chr(10).join(lines))}\n```"
        return
    prose: list[str] = []
    fields: list[str] = []
    for line in lines:
        found = _FIELD.fullmatch(line)
        if found:
            names = ", ".join(f"`{name}`" for name in found[1].split(", "))
            if prose:
                yield "\n".join(prose)
                prose = []
            fields.append(f"* {names}: {_linked(found[2])}")
        elif fields and line.startswith("    "):
            fields[-1] += f" {_linked(line.strip())}"
        else:
            if fields:
                yield "\n".join(fields)
                fields = []
            prose.append(_linked(line.strip()))
    if prose or fields:
        yield "\n".join(prose or fields)
