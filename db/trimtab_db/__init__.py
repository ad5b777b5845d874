"""The database that holds every experiment: models, migrations, and the repository that reads and writes."""

from trimtab_db.engines import sqlite_url
from trimtab_db.repository import Repository, open_database

__all__ = ["Repository", "open_database", "sqlite_url"]
