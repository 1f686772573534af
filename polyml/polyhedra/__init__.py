"""Everything that addresses isl dimensions by position, module by module; the names are meant to be imported from here.

All isl objects of the project live in one context, `CONTEXT`, since objects of two contexts cannot meet.
"""

# fmt: off
from polyml.polyhedra.affs import (
    before_rounding, divisions, expression_of, expressions, extent, fold, has_division, inverse_of_shifts, is_affine,
    iterator_coefficients, members, offset_dimension, on_domain, on_piece, only_value, plus, single, subscripts_of,
    union_of_functions, used_iterators, value_at, value_onto, values_onto, weighted,
)
from polyml.polyhedra.bounds import (
    NoNumber, bounded, ends, extremes, is_within, least, least_values, length, range_of_dimension, ranges, value_range,
)
from polyml.polyhedra.constraints import (
    LinearRow, Quotient, bounding, has_integers, integer_rows, is_in, linear_row, rows_by_piece, set_of_rows,
)
from polyml.polyhedra.context import CONTEXT, BudgetExceeded, account, budget, charge, left, uncharged
from polyml.polyhedra.elements import Instance, Witness, few_points, first_image, instance_text, only_point, points, text, witness
from polyml.polyhedra.parameters import (
    at_sizes, fix, forget, from_units, in_units, on_parameters, with_parameter, without_parameter, without_parameters,
    without_sizes,
)
from polyml.polyhedra.parts import (
    alternatives, by_first_difference, conjunctions, disjoint, joined, of_name, pieces, set_names, sides, union, without,
)
from polyml.polyhedra.regions import (
    as_facts, as_parameters, at_least, condition_text, equalities, first_if_fixed, fixed_dimensions, fixed_parameters, greatest,
    middle, multiples, parameter_range, parameters_as_set, range_by_domain, range_of, rows, some_parameters, with_condition,
)
from polyml.polyhedra.relations import (
    between, differ, divisors, earlier, equal_first, flat, freed, has_none, last_before, last_of, leads_both_ways, outer_of,
    strictly_between, values_of, where, with_last, within_bounds,
)
from polyml.polyhedra.shapes import (
    along, box_around, box_of, first_dimensions, hull_dimension, is_box, is_full, is_product, is_thick, is_whole_box, modulo,
    onto, outer, ragged, rational_image, telling_dimensions, translated,
)
from polyml.polyhedra.spaces import (
    Frame, dimension, dimensions, domain_name, extend, identity, parameter_names, range_name, relation, rename_domain, renamed,
    used_parameters, with_iterators,
)
from polyml.polyhedra.tiles import count_tiles, half_way, in_whole_tiles, last_walk, strides, unstrided

__all__ = [
    "CONTEXT", "BudgetExceeded", "Frame", "Instance", "LinearRow", "NoNumber", "Quotient", "Witness", "along", "alternatives",
    "as_facts", "as_parameters", "at_least", "at_sizes", "before_rounding", "between", "bounded", "bounding", "box_around",
    "box_of", "budget", "by_first_difference", "condition_text", "conjunctions", "count_tiles", "differ",
    "dimension", "dimensions", "disjoint", "divisions", "divisors", "domain_name", "earlier", "ends", "equal_first", "equalities",
    "expression_of", "expressions", "extend", "extent", "extremes", "few_points", "first_dimensions", "first_if_fixed", "first_image",
    "fix", "fixed_dimensions",
    "fixed_parameters", "flat", "fold", "forget", "freed", "from_units", "greatest", "half_way", "has_division", "has_integers",
    "has_none", "hull_dimension", "identity", "in_units", "in_whole_tiles", "instance_text", "integer_rows", "inverse_of_shifts",
    "is_affine", "is_box", "is_full", "is_in", "is_product", "is_thick", "is_whole_box", "is_within", "iterator_coefficients",
    "joined", "last_before", "last_of", "last_walk", "leads_both_ways", "least", "least_values", "length", "linear_row",
    "members", "middle", "modulo", "multiples", "of_name", "offset_dimension", "on_domain", "on_parameters", "on_piece",
    "only_point", "only_value",
    "onto", "outer", "outer_of", "parameter_names", "parameter_range", "parameters_as_set", "pieces", "plus", "points", "ragged",
    "range_by_domain", "range_name", "range_of", "range_of_dimension", "ranges", "rational_image", "relation", "rename_domain",
    "renamed", "rows", "rows_by_piece", "set_names", "set_of_rows", "sides", "single", "some_parameters", "strictly_between", "strides",
    "subscripts_of", "telling_dimensions", "text", "translated", "union", "union_of_functions", "unstrided", "used_iterators",
    "used_parameters", "value_at", "value_onto", "value_range", "values_of", "values_onto", "weighted", "where", "with_condition",
    "with_iterators", "with_last", "with_parameter", "within_bounds", "without", "without_parameter", "without_parameters",
    "without_sizes", "witness",
]
# fmt: on
