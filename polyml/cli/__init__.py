"""The command line."""

from polyml.cli.main import main

__all__ = ["main"]
