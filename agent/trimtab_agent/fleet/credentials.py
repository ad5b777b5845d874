"""Who belongs to a fleet: an authority of its own, and what it signs for each member.

The authority lies on the scheduler's host (`var/fleet/authority.pem`). A member has one file with its key,
its certificate and the authority's certificate, which is all that it needs to join. Whoever holds such a file
is a member: he may have stations carry out trials, and generators load a server. Names in certificates are
told to people; what decides is the signature (hosts of a fleet change their addresses, and may have none in
DNS).
"""

import re
import secrets
import ssl
import subprocess
import tempfile
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from trimtab_agent.errors import FleetError, HostError
from trimtab_agent.station.server.certificates import openssl_program

if TYPE_CHECKING:
    from distributed.security import Security

AUTHORITY_DAYS = 3650
MEMBER_DAYS = 825
LIMIT_S = 60.0
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-sha256")
BLOCK = re.compile(r"-----BEGIN ([A-Z ]+)-----.*?-----END \1-----\n?", re.DOTALL)


def make_authority(folder: Path) -> Path:
    """Makes the authority of a fleet in the folder unless it is there; returns its file.

    Raises BinaryMissing, HostError.
    """
    authority = folder / "authority.pem"
    if authority.exists():
        return authority
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as work:
            key, certificate = Path(work) / "key", Path(work) / "certificate"
            _openssl(
                *("req", "-x509", *KEY, "-days", str(AUTHORITY_DAYS), "-subj", "/CN=Trimtab fleet"),
                *("-keyout", key, "-out", certificate),
            )
            _write_secret(authority, key.read_text() + certificate.read_text())
    except OSError as error:
        raise HostError(f"{authority} cannot be made: {error.strerror}") from error
    return authority


def make_member(folder: Path, name: str, path: Path) -> None:
    """Writes the credentials of a new member, which has the name of its host, to `path`.

    Raises FleetError for an impossible name or where there is no authority, BinaryMissing, HostError.
    """
    authority = folder / "authority.pem"
    checked_name(name)
    if not authority.exists():
        raise FleetError(f"{authority} is not here: expected the host on which `trimtab fleet serve` runs")
    try:
        with tempfile.TemporaryDirectory(dir=folder) as work:
            key, request, certificate = (Path(work) / part for part in ("key", "request", "certificate"))
            _openssl("req", "-new", *KEY, "-subj", f"/CN={name}", "-keyout", key, "-out", request)
            _openssl(
                *("x509", "-req", "-in", request, "-CA", authority, "-CAkey", authority),
                *(
                    "-set_serial",
                    f"0x{secrets.token_hex(16)}",
                ),
                *("-days", str(MEMBER_DAYS), "-sha256", "-out", certificate),
            )
            signed_by = _blocks(authority.read_text())["CERTIFICATE"][0]
            _write_secret(path, key.read_text() + certificate.read_text() + signed_by)
    except OSError as error:
        raise HostError(f"{path} cannot be made: {error.strerror}") from error


def checked_name(name: str) -> str:
    """The name, if a member may have it; raises FleetError."""
    if NAME.fullmatch(name) is None:
        raise FleetError(f"{name!r}: expected a name of letters, digits, dots and hyphens, such as web1")
    return name


def security_of(path: Path) -> "Security":
    """What the engine is told of a member; raises FleetError for a file that is not `make_member`'s."""
    from distributed.security import Security

    try:
        blocks = _blocks(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise FleetError(
            f"the credentials {path} cannot be read: {why}; `trimtab fleet invite NAME` on the scheduler's "
            "host makes a file to be copied there"
        ) from error
    keys, certificates = blocks.get("PRIVATE KEY", []), blocks.get("CERTIFICATE", [])
    if len(keys) != 1 or len(certificates) != 2:
        raise FleetError(
            f"{path}: expected a key and two certificates, as `trimtab fleet invite` writes them"
        )
    if path.stat().st_mode & 0o077:
        raise FleetError(f"{path} can be read by others: expected mode 0600, as it holds a key")
    own = {
        f"tls_{role}_{part}": text
        for role in ("client", "worker", "scheduler")
        for part, text in (("key", keys[0]), ("cert", certificates[0]))
    }
    # Said here, and not by the engine's settings: these are made before that is set up.
    return Security(
        require_encryption=True,
        tls_ca_file=certificates[1],
        tls_min_version=ssl.TLSVersion.TLSv1_3,
        **own,
    )


def name_in(path: Path) -> str:
    """The name that the credentials were made for; raises FleetError, HostError."""
    security_of(path)
    said = _openssl("x509", "-in", path, "-noout", "-subject", "-nameopt", "multiline")
    found = re.search(r"commonName\s*=\s*(\S+)", said)
    if found is None:
        raise FleetError(f"{path}: its certificate has no name")
    return found[1]


def valid_until(path: Path) -> date:
    """The last day of the certificate; raises HostError."""
    said = _openssl("x509", "-in", path, "-noout", "-enddate", "-dateopt", "iso_8601")
    return date.fromisoformat(said.partition("=")[2].partition(" ")[0])


def _blocks(text: str) -> dict[str, list[str]]:
    """The blocks of a PEM file by their kind, in their order."""
    found: dict[str, list[str]] = {}
    for block in BLOCK.finditer(text):
        found.setdefault(block[1], []).append(block[0].rstrip("\n") + "\n")
    return found


def _write_secret(path: Path, text: str) -> None:
    """Whole or not at all, and for nobody else's eyes."""
    unfinished = path.with_name(path.name + ".new")
    unfinished.unlink(missing_ok=True)
    unfinished.touch(mode=0o600)
    unfinished.write_text(text)
    unfinished.rename(path)


def _openssl(*arguments: str | Path) -> str:
    """What OpenSSL's program printed; raises BinaryMissing, HostError."""
    command = (openssl_program(), *map(str, arguments))
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise HostError(f"openssl had not ended after {LIMIT_S:.0f} s") from error
    if done.returncode != 0:
        raise HostError(f"openssl {arguments[0]} has failed: {done.stderr.strip()}")
    return done.stdout
