"""Subcommands that make pages on which a reader works: `explore`."""
