"""Which trial on which host, and what several hosts say together: docs/fleet.md."""
