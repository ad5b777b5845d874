"""The Trimtab daemon and command line: what starts servers, drives load, reads counters and records trials."""
