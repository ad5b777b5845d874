"""The Trimtab daemon and command line: starts servers, drives load, reads counters, records trials."""
