"""The failure of a bundle, repeated: `python BUNDLE` fails as the compiler did."""

from __future__ import annotations

import sys

from polyml.api.decorator import Kernel
from polyml.bundles.bundle import Bundle, read
from polyml.errors import ConfigError, PolymlError


def compiled(bundle: Bundle) -> Kernel:
    """Returns the kernel of a bundle (a recorded failure of the compiler), with settings under which a call raises the failure
    instead of going on without compiled code.

    Raises ConfigError where the bundle's source does not run.
    """
    try:
        function = bundle.defined()
    except Exception as problem:
        raise ConfigError(f"the source of the bundle raises {type(problem).__name__}: {problem}") from None
    settings = {**bundle.settings, "cache": False, "on_defect": "raise", "fallback": "error"}
    return Kernel(function, settings)


def repeat(bundle: Bundle) -> PolymlError | None:
    """Compiles and calls the kernel of a bundle. Returns the error that it raises; None where it raises none."""
    called = compiled(bundle)
    try:
        called(*bundle.arguments())
    except PolymlError as problem:
        return problem
    return None


def main(path: str) -> None:
    """Repeats the failure of the bundle in the file `path`, as `python BUNDLE` does.

    Raises the failure, or prints that there is none; exits with status 2 where the file is no bundle that can be run.
    """
    try:
        found = read(path)
        problem = repeat(found)
    except PolymlError as unusable:
        print(unusable, file=sys.stderr)
        sys.exit(2)
    if problem is None:
        print(f"{found.function} compiles and runs: the defect is mended here, or needs what is not in the bundle")
        return
    raise problem
