"""The routes of /api/v1, one file a subject."""
