"""Measures of how complex quasi-affine expressions are: an expression that isl takes long for is refused, or left to run time, by
them.
"""

from __future__ import annotations

from polyml.quasi_affine.affine import Affine, Atom, Choice, Compare, Condition, Extremum, FloorDiv


def depth(value: Affine) -> int:
    """Returns how deeply an expression nests quotients, minima, maxima and `then if condition else orelse`: 0 for a linear one."""
    return max((1 + _atom_depth(atom) for atom, _ in value.terms if not isinstance(atom, str)), default=0)


def _atom_depth(atom: FloorDiv | Extremum | Choice) -> int:
    """Returns the greatest `depth` of the expressions inside a quotient, a minimum or maximum, or a Choice."""
    if isinstance(atom, FloorDiv):
        return depth(atom.operand)
    if isinstance(atom, Extremum):
        return max(map(depth, atom.operands))
    return max(_condition_depth(atom.condition), depth(atom.then), depth(atom.orelse))


def _condition_depth(condition: Condition) -> int:
    """Returns the greatest `depth` of the expressions that a condition compares; 0 where it compares none."""
    if isinstance(condition, Compare):
        return depth(condition.expr)
    return max(map(_condition_depth, condition.parts), default=0)


def atoms(value: Affine | Condition) -> frozenset[Atom]:
    """Returns the different names, quotients, minima, maxima and Choices in an expression or condition, also those inside one
    another.
    """
    if isinstance(value, Compare):
        return atoms(value.expr)
    if isinstance(value, Affine):
        return frozenset().union(*({atom} | _atoms_inside(atom) for atom, _ in value.terms))
    return frozenset().union(*map(atoms, value.parts))


def _atoms_inside(atom: Atom) -> frozenset[Atom]:
    """Returns the different names, quotients, minima, maxima and Choices inside one of these, without itself; none inside a
    name.
    """
    if isinstance(atom, str):
        return frozenset()
    if isinstance(atom, FloorDiv):
        return atoms(atom.operand)
    if isinstance(atom, Extremum):
        return frozenset().union(*map(atoms, atom.operands))
    return atoms(atom.condition) | atoms(atom.then) | atoms(atom.orelse)


def quotients(*values: Affine | Condition) -> int:
    """Returns the number of different quotients in the expressions and conditions: isl has a dimension for each."""
    return sum(isinstance(atom, FloorDiv) for atom in frozenset().union(*map(atoms, values)))
