"""The HTTP face of the daemon: REST under /api/v1, one live stream, and the web UI."""
