"""The Trimtab daemon and command line: starts servers, drives load, reads counters, records trials."""

from importlib.metadata import version

__version__ = version("trimtab-agent")
