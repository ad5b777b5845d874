"""Databases for tests as an opener leaves a new one: with today's schema, and nothing recorded.

The migrations make one of each kind, and every other is a copy of it. That they make the schema and keep
what is recorded is the subject of test_schema.py and test_database.py, which begin with nothing.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from trimtab_db import open_database, sqlite_url


@cache
def _sqlite() -> bytes:
    """The file that the migrations make, once in this process."""
    with tempfile.TemporaryDirectory(prefix="trimtab-db-") as directory:
        file = Path(directory) / "trimtab.db"
        open_database(sqlite_url(file)).close()
        return file.read_bytes()


def empty_sqlite(file: Path) -> str:
    """The URL of a database in `file`, which is made with its directory if it is not there."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(_sqlite())
    return sqlite_url(file)
