"""The command line. The door is `main`, the command `polyml`."""

from polyml.cli.main import main

__all__ = ["main"]
