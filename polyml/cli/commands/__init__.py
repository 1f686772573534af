"""The subcommands of `polyml`, one file each."""
