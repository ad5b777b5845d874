"""The command line's groups of commands, one file each; `terminal/main.py` puts them together."""
