"""HTTPS: what the visitors of a workload bring to the handshake.

`version` is the only one that they offer (`any`: 1.2 and 1.3), with its `ciphers` as OpenSSL names them.
`resumed_share` of the connections offer the session of an earlier one, as with visitors who come back.
`server_name` is the name that they ask for; certificates are of the station's own making, and nobody checks
them. Which key the server has is its configuration (`targets/tls.py`).
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from trimtab_tuner.frozen import Frozen


class Tls(Frozen):
    """The `[tls]` table of a definition."""

    version: Literal["any", "1.2", "1.3"] = "any"
    ciphers: Annotated[str, Field(pattern=r"^[A-Za-z0-9_:+!@=-]{1,500}$")] | None = None
    resumed_share: Annotated[float, Field(ge=0, le=1)] = 0.0
    server_name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.-]{0,252}$")] | None = None

    @model_validator(mode="after")
    def _ciphers_of_one_version(self) -> "Tls":
        if self.ciphers is not None and self.version == "any":
            raise ValueError('ciphers: expected version = "1.2" or "1.3" beside them; each has its own')
        return self
