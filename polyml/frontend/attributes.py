"""Attributes of arguments are values that a lifted part of a function takes: `self.a` becomes the parameter `self_a`.

The new name is as long as the old text, so that columns in messages stay right.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MemberDescriptorType

import numpy as np

MISSING = object()
_OF_ARRAYS = frozenset(dir(np.ndarray))


def liftable_attributes(tree: ast.FunctionDef, taken: Collection[str]) -> Mapping[str, tuple[str, str]]:
    """Returns the attributes of parameters, such as `self.a`, that a function may take as further parameters.

    The result is new name -> (parameter, attribute). An attribute is left out where it is called, where arrays of NumPy have an
    attribute of that name, and where the new name is in use.

    taken: the names that the function uses.
    """
    bound = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    given = {a.arg for a in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)} - bound
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    found = {}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=base), attr=attr, ctx=ast.Load()) if base in given and id(node) not in called:
                if attr not in _OF_ARRAYS and f"{base}_{attr}" not in taken:
                    found[f"{base}_{attr}"] = base, attr
    return found


class AttributeReplacer(ast.NodeTransformer):
    """An AttributeReplacer is a transformer of Python's syntax trees that puts a name in the place of attributes such as `self.a`.

    attributes: name -> (parameter, attribute), as of `liftable_attributes`.
    used: the names that it has put into trees so far.
    """

    def __init__(self, attributes: Mapping[str, tuple[str, str]]):
        self._names = {attribute: name for name, attribute in attributes.items()}
        self.used: set[str] = set()

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        match node:
            case ast.Attribute(value=ast.Name(id=base), attr=attr, ctx=ast.Load()) if (base, attr) in self._names:
                name = self._names[base, attr]
                self.used.add(name)
                return ast.copy_location(ast.Name(name, ast.Load()), node)
        return self.generic_visit(node)


def positions(body: Sequence[ast.AST], attributes: Mapping[str, tuple[str, str]]) -> Iterator[tuple[int, int, int]]:
    """Yields (line, first column, column behind the last) of each read of one of the attributes that stands on one line.

    Lines count from 1; columns are offsets in bytes, as in Python's syntax tree.

    attributes: name -> (parameter, attribute), as of `liftable_attributes`.
    """
    known = set(attributes.values())
    for stmt in body:
        for node in ast.walk(stmt):
            match node:
                case ast.Attribute(value=ast.Name(id=base), attr=attr, ctx=ast.Load()) if (base, attr) in known:
                    if node.lineno == node.end_lineno and node.end_col_offset is not None:
                        yield node.lineno, node.col_offset, node.end_col_offset


def read(holder: object, attr: str) -> object:
    """Returns the value of an attribute of an object if it can be read without running code, else the marker MISSING.

    It cannot where it is computed (by a property, a descriptor or `__getattribute__`) or absent.
    """
    kind = type(holder)
    if kind is type:  # a class, as `cls`
        held = inspect.getattr_static(holder, attr, MISSING)
        return MISSING if hasattr(type(held), "__get__") else held
    if kind.__getattribute__ is not object.__getattribute__:
        return MISSING
    of_class = inspect.getattr_static(kind, attr, MISSING)
    if isinstance(of_class, MemberDescriptorType):  # a slot, which __slots__ made
        return getattr(holder, attr, MISSING)
    if hasattr(type(of_class), "__set__") or hasattr(type(of_class), "__delete__"):
        return MISSING
    held = getattr(holder, "__dict__", {})
    if attr in held:
        return held[attr]
    return MISSING if hasattr(type(of_class), "__get__") else of_class
