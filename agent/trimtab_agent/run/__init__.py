"""Execution of runs: the phases, the trials up the ladder, progress, and the one-run-at-a-time lock."""
