"""Affinity plans put into force under a journal, and taken back: settings, journal, what would undo them."""
