"""python -m polyml: the command line."""

from polyml.cli import main

main(prog_name="python -m polyml")
