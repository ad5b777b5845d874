"""The command line's groups of commands, one file each; `cli.py` puts them together."""
