"""Stations on several hosts, under Dask distributed, with the database as the truth: docs/fleet.md."""
