"""What a workload is, as a small TOML file that a user can copy and change.

name = "w3"
help = "Four small files, asked for equally often."
source = "where its numbers come from"

[files]                     # file_sets.py: kinds `specweb99`, `listed`, `banded`
kind = "listed"
list = [{ size_bytes = 50 }, { size_bytes = 500 }, { size_bytes = 1024 }, { size_bytes = 5120 }]

[sessions]                  # session_shapes.py: kinds `surge`, `plain`
kind = "plain"
requests = 1

[dynamic]                   # dynamic.py; may be left out, as may [upstream] (upstream.py) in its place
share = 0.05

    [tls]                       # tls.py; may be left out, and then there is no TLS
    resumed_share = 0.5

    [http2]                     # http2.py; may be left out, and then it is HTTP/1.1
    streams = 100

    [clients]                   # clients.py; may be left out
    arrivals = "poisson"

    [conditions]                # conditions.py; may be left out, and a run may ask for others
    memory = "unlimited"
    start = "warm"
    link = "loopback"

In place of `[files]` and `[sessions]` a definition may have `[learnt]` (learnt.py), which `trimtab workload
learn` writes: it names what was learnt from an access log. Or it has `[shop]` (shop_table.py), and is a
workload of MariaDB and not of a web server.
"""

import tomllib
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError, model_validator

from trimtab_tuner.clients import Clients
from trimtab_tuner.frozen import Frozen
from trimtab_tuner.protocols import ProtocolName
from trimtab_tuner.targets.backends import BACKENDS
from trimtab_tuner.targets.backends.base import Backend
from trimtab_tuner.workloads.conditions import Conditions
from trimtab_tuner.workloads.dynamic import Dynamic
from trimtab_tuner.workloads.file_sets import BandedFiles, ListedFiles, Specweb99Files
from trimtab_tuner.workloads.http2 import Http2
from trimtab_tuner.workloads.learnt import Learnt
from trimtab_tuner.workloads.session_shapes import PlainSessions, SurgeSessions
from trimtab_tuner.workloads.shop_table import Shop
from trimtab_tuner.workloads.tls import Tls
from trimtab_tuner.workloads.upstream import Upstream

LARGEST_DEFINITION_BYTES = 4 << 20
NAME_PATTERN = r"^[a-z0-9][a-z0-9-]{0,62}$"


class DefinitionError(ValueError):
    """A definition that cannot be used; the message names the file, the field and what was expected."""


class Definition(Frozen):
    """One workload: drawn from `files` and `sessions`, or `learnt`, or of a `shop`."""

    name: Annotated[str, Field(pattern=NAME_PATTERN)]
    help: Annotated[str, Field(min_length=1, max_length=400)]
    source: Annotated[str, Field(max_length=1000)] = ""
    files: Annotated[Specweb99Files | ListedFiles | BandedFiles, Field(discriminator="kind")] | None = None
    sessions: Annotated[SurgeSessions | PlainSessions, Field(discriminator="kind")] | None = None
    learnt: Learnt | None = None
    shop: Shop | None = None
    dynamic: Dynamic | None = None
    upstream: Upstream | None = None
    tls: Tls | None = None
    http2: Http2 | None = None
    clients: Clients = Clients()
    conditions: Conditions = Conditions()

    @model_validator(mode="after")
    def _one_origin(self) -> "Definition":
        drawn = (self.files, self.sessions)
        if self.learnt is None and self.shop is None and None in drawn:
            raise ValueError("expected [files] and [sessions], or [learnt], or [shop]")
        if self.learnt is not None and (*drawn, self.behind, self.shop) != (None,) * 4:
            raise ValueError(
                "[learnt] stands alone: expected no [files], [sessions], [dynamic] or [upstream] beside it"
            )
        if None not in (self.dynamic, self.upstream):
            raise ValueError("expected either [dynamic] or [upstream]")
        if self.http2 is not None and self.clients.slow_share > 0:
            raise ValueError("[http2]: expected slow_share = 0; slow clients speak HTTP/1 only")
        return self

    @property
    def behind(self) -> Dynamic | Upstream | None:
        """What answers the requests that the server does not answer with a file; None: it answers all."""
        return self.dynamic if self.upstream is None else self.upstream

    @property
    def backend(self) -> Backend | None:
        """The program behind the server whose knobs are searched beside the server's; None without one."""
        return None if self.dynamic is None else BACKENDS[self.dynamic.by]

    @property
    def proxies(self) -> bool:
        """Whether the server hands requests on over HTTP."""
        return self.upstream is not None or (self.backend is not None and self.backend.speaks == "http")

    @model_validator(mode="after")
    def _shop_alone(self) -> "Definition":
        if self.shop is None:
            return self
        if (self.files, self.sessions, self.behind, self.tls, self.http2) != (None,) * 5:
            raise ValueError("[shop] stands alone: expected none beside it but [clients] and [conditions]")
        if self.clients.conditional_share or self.clients.slow_share:
            raise ValueError("[shop]: expected clients without conditional_share and slow_share")
        return self

    @property
    def protocol(self) -> ProtocolName:
        """What its clients speak."""
        return "http" if self.shop is None else "mariadb"

    def sized(self, directories: int) -> "Definition":
        """The definition with so many directories, if its file set is made of directories."""
        if not isinstance(self.files, Specweb99Files):
            return self
        return self.model_copy(update={"files": self.files.model_copy(update={"directories": directories})})

    def size(self) -> tuple[int, int]:
        """How many files its file set has, and how many bytes."""
        if self.shop is not None:
            return 0, self.shop.size_bytes
        if self.learnt is not None:
            return self.learnt.files, self.learnt.file_set_bytes
        sizes = [size for _, size in self.files.files()] if self.files is not None else []
        return len(sizes), sum(sizes)


def read_definition(path: Path) -> Definition:
    """The definition in a TOML file; raises DefinitionError."""
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_DEFINITION_BYTES + 1)
    except OSError as error:
        raise DefinitionError(f"the workload file {path} cannot be read: {error.strerror}") from error
    if len(text) > LARGEST_DEFINITION_BYTES:
        raise DefinitionError(f"the workload file {path} is longer than 4 MiB: expected a small TOML file")
    return parse_definition(text, str(path))


def parse_definition(text: bytes, name: str) -> Definition:
    """The definition in TOML text; `name` stands for the file in errors. Raises DefinitionError."""
    try:
        document = tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DefinitionError(f"{name}: not a TOML file: {error}") from error
    try:
        return Definition.model_validate(document)
    except ValidationError as error:
        raise DefinitionError(f"{name}: {first_error_sentence(error)}") from error


def first_error_sentence(error: ValidationError) -> str:
    """Field, value and expectation of the first thing that is wrong."""
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"])
    reason = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
    reason = reason.replace("should be", "expected to be").replace("should match", "expected to match")
    if first["type"] == "missing":
        return f"{field} is missing"
    if first["type"] == "extra_forbidden":
        return f"{field}: no such field"
    if first["type"] == "value_error":
        return f"{field}: {reason}" if field else reason
    return f"{field} = {first['input']!r}: {reason}"
