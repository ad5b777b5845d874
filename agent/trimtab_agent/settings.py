"""The daemon's and the command line's settings: environment variables that begin with TRIMTAB_.

Options of the command line are given to `AgentSettings(...)` by name and go before the environment. A
checkout needs no setting at all: the programs are where `make build` puts them, and what running leaves
behind goes to `var/`.
"""

from __future__ import annotations

import ipaddress
import stat
from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from trimtab_agent.errors import HostError
from trimtab_agent.paths import VarPaths

CHECKOUT = Path(__file__).resolve().parents[2]
LOCKS = Path("/run/lock")
TEMPORARY = Path("/tmp")  # noqa: S108 - that of all users, and the lock is opened with care
SHORTEST_TOKEN = 16


class AgentSettings(BaseSettings):
    """All settings; `docs/settings.md` lists them for users."""

    model_config = SettingsConfigDict(
        env_prefix="TRIMTAB_", env_ignore_empty=True, extra="forbid", frozen=True
    )

    host: str = Field(default="127.0.0.1", description="Address the daemon listens on.")
    port: int = Field(default=8080, ge=0, le=65535, description="Port it listens on; 0 takes a free one.")
    extra_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Names under which browsers reach the daemon besides localhost, separated by commas; "
        "`name` stands for any port, `name:port` for one.",
    )
    token: SecretStr | None = Field(default=None, description="Secret that every request must show.")
    token_file: Path | None = Field(
        default=None, description="File that holds the token, in place of `token`."
    )
    without_token: bool = Field(
        default=False,
        description="Listen on a non-loopback address without a token: somebody else guards it.",
    )
    var: Path = Field(
        default=CHECKOUT / "var", description="Directory of everything that running leaves behind."
    )
    database_url: SecretStr | None = Field(
        default=None,
        description="Database: `sqlite:////path/of/a/file` or `postgresql://user@host/name`; "
        "a SQLite file in `var` if not given.",
    )
    lock: Path | None = Field(
        default=None,
        description="Lock of the machine for all Trimtabs on it; /run/lock/trimtab.lock if not given.",
    )
    httpd_path: Path = Field(
        default=CHECKOUT / "server-core/build/httpd/trimtab-httpd", description="The server trimtab-httpd."
    )
    load_path: Path = Field(
        default=CHECKOUT / "server-core/build/loadgen/trimtab-load", description="The load generator."
    )
    upstream_path: Path = Field(
        default=CHECKOUT / "server-core/build/upstream/trimtab-upstream",
        description="The server on the other side of a proxy that is measured.",
    )
    helper: Path | None = Field(
        default=None, description="Socket of the privileged helper; masks are written directly if not given."
    )
    sysfs: Path = Field(
        default=Path("/sys"), description="Where the host's /sys is; a container's own shows its own devices."
    )
    counters_mib: int = Field(
        default=1024, ge=16, description="What recorded counter samples may take up, in MiB."
    )
    live_servers: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Running servers that the API may attach to for live tuning, separated by commas: units, "
        "paths of programs, or ports. Commands on the machine need no such list.",
    )
    base_files: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Configuration files of this machine with which a run may be started in the browser, "
        "separated by commas: absolute paths. Commands on the machine need no such list.",
    )
    sites: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Directories of this machine whose files a run started in the browser may have served, "
        "separated by commas: absolute paths. Commands on the machine need no such list.",
    )
    uploads: bool = Field(
        default=False,
        description="Whether a run may be started with a whole configuration file that is sent through the "
        "browser.",
    )
    fleet: str = Field(
        default="tls://127.0.0.1:8786",
        description="Scheduler of the fleet, as tls://HOST or tls://HOST:PORT.",
    )
    fleet_credentials: Path | None = Field(
        default=None,
        description="What makes this machine a member of the fleet; fleet/credentials.pem in `var` if not "
        "given.",
    )
    webhook: SecretStr | None = Field(
        default=None, description="URL that is sent a JSON document when a run has ended."
    )
    webui: Path = Field(default=CHECKOUT / "webui/dist", description="Directory of the built web UI.")
    docs_site: Path = Field(
        default=CHECKOUT / ".build/docs-site", description="Directory of the built documentation."
    )

    @field_validator("extra_hosts", "live_servers", "base_files", "sites", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("extra_hosts")
    @classmethod
    def _lower(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name.lower() for name in value)

    @property
    def demo(self) -> bool:
        """Whether what `var` holds is simulated: a mark in the folder says so, for as long as it is there.

        Raises HostError where nobody can tell.
        """
        paths = VarPaths(self.var)
        try:
            return paths.is_demo
        except OSError as error:
            raise HostError(f"{paths.demo_mark} cannot be read: {error.strerror}") from error

    @property
    def has_database(self) -> bool:
        """Whether there is one already, as far as that can be told without asking a server."""
        return self.database_url is not None or VarPaths(self.var).database.exists()

    @property
    def machine_lock(self) -> Path:
        """The file that is locked while something measures on this machine; a demo is in nobody's way."""
        if self.demo:
            return self.var / "demo.lock"
        if self.lock is not None:
            return self.lock
        # The same for every user, whatever this one may write to.
        for_all = LOCKS.is_dir() and LOCKS.stat().st_mode & stat.S_IWOTH
        return (LOCKS if for_all else TEMPORARY) / "trimtab.lock"

    @property
    def credentials(self) -> Path:
        """What makes this machine a member of the fleet."""
        return self.fleet_credentials or self.var / "fleet" / "credentials.pem"

    def lock_of(self, *, over_hosts: bool) -> Path:
        """The file that is locked while a run goes on: the machine's, or, of runs that it only decides, one
        beside it.
        """
        path = self.machine_lock
        return path.with_name(f"{path.stem}-fleet{path.suffix}") if over_hosts else path

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the address the daemon listens on."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def access_token(self) -> str | None:
        """The token every request must show; None if the daemon asks for none.

        Raises `HostError` when the file cannot be read, the token is too short to be a secret, or the daemon
        would be reachable from other machines without one.
        """
        token = self.token.get_secret_value() if self.token else None
        if self.token_file is not None:
            try:
                token = self.token_file.read_text().strip()
            except (OSError, UnicodeDecodeError) as error:
                raise HostError(f"the token file {self.token_file} cannot be read: {error}") from error
        if token is not None and len(token) < SHORTEST_TOKEN:
            raise HostError(
                f"the token has {len(token)} characters: expected at least {SHORTEST_TOKEN}, "
                "for instance from `openssl rand -hex 32`"
            )
        if token is None and not self.loopback and not self.without_token:
            raise HostError(
                f"{self.host} can be reached from other machines: set TRIMTAB_TOKEN_FILE or "
                "TRIMTAB_TOKEN, or TRIMTAB_WITHOUT_TOKEN=true if something else keeps strangers away"
            )
        return token
