"""Counters of the host and of the server under test: one small module for each source, and the sampler."""
