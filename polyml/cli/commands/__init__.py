"""The work of each subcommand, one file each, imported when it runs."""
