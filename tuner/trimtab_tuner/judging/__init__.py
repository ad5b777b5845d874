"""Judging a trial: the job, the rates it is driven at, when it may end, whether it counts, what it scores."""
