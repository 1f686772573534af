"""Libraries in tests: built, called through C, and linked into programs."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import polyml
from polyml.ahead_of_time.library_build import LibraryRequest, build

CC, CXX = shutil.which("cc"), shutil.which("c++")
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"]


def built(function, signature, folder, **options):
    """The files of a library of a function."""
    return build(polyml.kernel(function), LibraryRequest(signature, **options), folder)


def loaded(function, signature, folder, **options):
    """The function of a library, in Python."""
    return polyml.load(built(function, signature, folder, **options).shared)


def in_c(files):
    """The function of a library as ctypes calls it, without polyml's tests, and a function that returns its words for a number."""
    library = ctypes.CDLL(str(files.shared))
    name = files.object.stem
    words = getattr(library, f"{name}_error")
    words.restype = ctypes.c_char_p
    return getattr(library, name), lambda status: words(status).decode()


def ran(source: Path, made: list, *, compiler=CC, options=(), before=()) -> str:
    """What a program prints that is compiled of a source and linked with objects or libraries."""
    program = made[0].parent / f"{source.stem}_{made[0].suffix[1:]}"
    folder = str(made[0].parent)
    command = [compiler, *STRICT, *options, f"-I{folder}", str(source), *map(str, made), "-o", str(program), "-lm", "-lpthread"]
    done = subprocess.run([*command, f"-Wl,-rpath,{folder}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([*before, str(program)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout
