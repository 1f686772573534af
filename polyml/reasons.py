"""Why a call runs as plain Python: a number for each kind of reason, and what to write instead.

Numbers never change their meaning; a warning names those of all its reasons in its first line, so that a filter may ask for them:

    warnings.filterwarnings("error", message=".*PML-F001")
"""

from __future__ import annotations

REASONS = {
    "PML-F001": ("a while loop", "a condition of numbers, and elements that are copied in place of arrays that are exchanged"),
    "PML-F002": ("break, continue, or return in a loop", "as many results on each path, and elements that are copied in place of arrays that are exchanged"),
    "PML-F003": ("try, with, or an exception that is not Python's own with a constant text", "check before or behind the loops, in a statement of its own"),
    "PML-F004": ("a function, class, generator or lambda inside", "define functions outside: those of the module are inlined"),
    "PML-F005": ("a comprehension", "fill an array in a `for` loop over a range"),
    "PML-F006": ("a list, tuple, dict, set or string", "keep numbers in arrays, and pass the rest to the statements outside"),
    "PML-F007": ("import of a module other than math and NumPy, global, nonlocal, del, match or :=", "import at the top of the module; return what is to be kept"),
    "PML-F008": ("a loop over something that is neither a range nor an array", "`for i in range(A.shape[0])`, or over arrays, `zip` and `enumerate`"),
    "PML-F009": ("a function that calls itself", "a loop, or calls outside of comprehensions with numbers and the same arrays"),
    "PML-F010": ("a function that is not compiled", "call it outside and pass its result: draw random numbers, sort and factorise before, print behind"),
    "PML-F011": ("an attribute, or a method of an object", "read it before and pass its value"),
    "PML-F012": ("a name from outside that is no number", "pass arrays as arguments"),
    "PML-F013": ("a statement without effect on arrays or numbers", "leave it to the caller"),
    "PML-F014": ("parameters that take any arguments", "parameters with names"),
    "PML-F020": ("array operations in a form that is not compiled", "the form that the note names"),
    "PML-F021": ("elements at an index array, or a mask that selects", "`for` over the indices; `np.where` or `if` for a mask"),
    "PML-F022": ("a result that shares memory", "return a copy"),
    "PML-F023": ("a name bound to different arrays", "a name for each array"),
    "PML-F030": ("bounds, subscripts or conditions that are not affine", "elements one by one in place of slices and rows there, or loop variables with constant factors; pass sizes as ints"),
    "PML-F031": ("bounds, subscripts or array sizes that data decide", "sizes that are passed as ints; a function of its own for such loops beside nests"),
    "PML-F032": ("sizes or indices that do not fit an operation", "sizes that are equal or 1 in each dimension, and indices inside their array; test others before"),
    "PML-F040": ("types that cannot be together", "convert one with .astype or np.float64(...)"),
    "PML-F041": ("Python integers beyond 64 bits", "NumPy's integers, or floats"),
    "PML-F042": ("an array where a number belongs", "index it in all its dimensions, or pass an array that has as many as the kernel indexes"),
    "PML-F050": ("an argument that is neither a number nor an array", "np.asarray(x), or one argument for each number and array in it"),
    "PML-F051": ("an array that cannot be written", "pass a copy"),
    "PML-F060": ("no text of the function", "define it in a file or a notebook cell, and import it again after a change"),
    "PML-F061": ("no more code is made", '`recompile="default"`'),
    "PML-F070": ("a construct that the language does not have", "what the note says is accepted"),
    "PML-F080": ("the compiler failed", "nothing: it is a defect of polyml; please report it with the warning's text"),
    "PML-F081": ("the compile budget does not suffice", "make several functions of it, or raise `compile_budget_s`"),
}  # fmt: skip


def remedy(code: str) -> str:
    """Returns what to write instead of the construct for which a call runs as plain Python.

    code: the number of the reason, such as "PML-F002".

    >>> remedy("PML-F002")
    'as many results on each path, and elements that are copied in place of arrays that are exchanged'
    """
    return REASONS[code][1]
