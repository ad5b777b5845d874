"""Samples of the counters on their way into the database, and their means over longer steps."""
