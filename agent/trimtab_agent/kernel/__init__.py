"""Knobs of the kernel: which of them this machine has, and set for the time of a trial."""
