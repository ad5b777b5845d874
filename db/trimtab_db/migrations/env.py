"""What Alembic runs to migrate: over the connection of `trimtab_db.database`, inside its transaction."""

from __future__ import annotations

from typing import Literal

from alembic import context
from trimtab_db.models import Base, UtcDateTime


def render_item(kind: str, item: object, _autogenerate: object) -> str | Literal[False]:
    """Write a time as the column it is: a migration must not change when the models do."""
    return "sa.DateTime(timezone=True)" if kind == "type" and isinstance(item, UtcDateTime) else False


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_item=render_item,
    # SQLite cannot alter a table in place; batch mode copies it.
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
