"""Telling people what a configuration does: capacity, latency and cost, in figures, sentences and tables."""
