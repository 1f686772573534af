"""`polyml doctor --reduce` and `polyml bisect`: what is done with a failure of the compiler that was kept."""

from __future__ import annotations

from pathlib import Path

import click

from polyml.bundles.bundle import read
from polyml.cli.inputs import output
from polyml.cli.inputs.exit_status import DONE, REFUSED
from polyml.cli.inputs.progress import working
from polyml.errors import ConfigError
from polyml.reading.userfiles import reason, write_text


def reduce(path: str, as_json: bool) -> int:
    """Makes the bundle in a file smaller while it still fails, writes the smaller one to the same folder, and prints its source.

    Returns the exit status: 0, or 1 where the given bundle does not fail.
    """
    from polyml.defects.reduce import reduced

    given = read(path)
    with working("making the failure smaller") as done:
        found = reduced(given, lambda count: done(count, f"variant {count}"))
    if found is None:
        click.echo(
            f"{path}: {given.function} does not fail: the defect is mended here, or needs what is not in the bundle", err=True
        )
        return REFUSED
    file = Path(path).parent / found.file
    try:
        write_text(file, found.text())
    except OSError as problem:
        raise ConfigError(f"{file} cannot be written: {reason(problem)}") from None
    if as_json:
        output.as_json({"bundle": str(file), "source": found.source, "failure": f"{found.error}: {found.message}"})
    else:
        click.echo(f"{found.source}\n{file}")
    return DONE


def bisect(path: str, as_json: bool) -> int:
    """Prints after which pass the results of a bundle differ from plain Python's. Returns the exit status: 1 where there is such a
    pass.

    path: the file of the bundle.
    """
    from polyml.defects.bisect import bisect

    with working("looking for the pass") as done:
        found = bisect(read(path), lambda count: done(count, f"lengths up to {count}"))
    if as_json:
        output.as_json({**vars(found)})
    else:
        click.echo(str(found))
    return REFUSED if found.culprit else DONE
