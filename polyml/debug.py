"""Dumps of what stages and passes make, by name: POLYML_DEBUG=schedule,vectorize,llvm, and POLYML_DEBUG_DIR=folder for files."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable

from polyml import config
from polyml.errors import ConfigError
from polyml.reading.input_limits import shown

_numbers = itertools.count(1)


def dump(stage: str, text: str | Callable[[], str], *, name: str = "kernel") -> None:
    """Writes what a stage or a pass made, if the setting `debug` names it: to standard error, or to a new file in the folder
    `debug_dir`.

    stage: the name of the stage or pass, one of config.STAGES or config.PASSES.
    text: the text, or a function that makes it, which is called only if the text is written.
    name: the name of the kernel, for the heading or the file's name.
    Raises ConfigError where `debug_dir` cannot be written.
    """
    if stage not in (*config.STAGES, *config.PASSES):
        raise ValueError(f"there is no stage {stage!r}; stages: {', '.join(config.STAGES)}; passes: {', '.join(config.PASSES)}")
    options = config.resolve()
    if stage not in options.debug:
        return
    content = text() if callable(text) else text
    content = content if content.endswith("\n") else content + "\n"
    if options.debug_dir is None:
        sys.stderr.write(f"==== {name}: {stage} ====\n{content}")
        return
    path = os.path.join(options.debug_dir, f"{next(_numbers):04d}-{name}.{stage}.txt")
    try:
        os.makedirs(options.debug_dir, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
    except (OSError, ValueError) as problem:
        why = getattr(problem, "strerror", None) or "this is no name of a folder"
        raise ConfigError(
            f"the setting `debug_dir` leads to no folder that can be written, {shown(options.debug_dir)}: {why}"
        ) from None
