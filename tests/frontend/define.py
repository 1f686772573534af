"""Functions from text, as a file would define them."""

from __future__ import annotations

import itertools
import linecache
import math
import textwrap

import numpy as np

_COUNT = itertools.count()


def define(text: str, name: str = "f", **values):
    """The function `name` that `text` defines; np, math and `values` are its globals.

    The text is registered as the file kernel.py, numbered so that no two are mixed up; `message` undoes the numbering.
    """
    text = textwrap.dedent(text).lstrip("\n")
    file = f"kernel{next(_COUNT)}.py"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace = {"np": np, "math": math, **values}
    exec(compile(text, file, "exec"), namespace)
    function = namespace[name]
    function.file = file
    return function


def message(error: Exception, function) -> str:
    """The error's text, with the file called kernel.py."""
    return str(error).replace(function.file, "kernel.py")
