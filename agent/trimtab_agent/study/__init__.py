"""What decides: a run from its specification through calibration, search and confirmation to its files."""
