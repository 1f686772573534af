"""The command line."""

from polyml.cli.commands import main

__all__ = ["main"]
