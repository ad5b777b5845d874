"""The base of the tuner's models."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Immutable, unknown fields refused; can be stored and sent as JSON as it is."""

    model_config = ConfigDict(frozen=True, extra="forbid")
