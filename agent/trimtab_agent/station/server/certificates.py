"""Certificates for a server under test, made on the spot: each signs itself, and nobody checks it.

They are kept for as long as the run's directory is, so that all its trials meet the same ones.
"""

import shutil
import subprocess
from pathlib import Path

from trimtab_tuner.targets import tls

from trimtab_agent.errors import BinaryMissing, HostError

NAME = "trimtab.test"
DAYS = 365
LIMIT_S = 60.0
_KINDS = {
    "rsa": ("-newkey", "rsa:2048"),
    "ecdsa": ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
}


def openssl_program() -> str:
    """OpenSSL's own program; raises BinaryMissing."""
    found = shutil.which("openssl")
    if found is None:
        raise BinaryMissing(
            "openssl, which makes the certificates of a workload with TLS, is not installed here; "
            "`apt-get install --no-install-recommends openssl` installs it"
        )
    return found


def make_certificates(directory: Path) -> tuple[Path, ...]:
    """Makes a certificate for each kind of key in the directory, unless it is there; returns the keys' files.

    Raises BinaryMissing, HostError.
    """
    directory.mkdir(parents=True, exist_ok=True)
    return tuple(_make(directory, str(kind)) for kind in tls.KEY.choices)


def _make(directory: Path, kind: str) -> Path:
    certificate = Path(tls.certificate_file(str(directory), kind))
    key = Path(tls.key_file(str(directory), kind))
    if certificate.exists():
        return key
    unfinished = certificate.with_suffix(".new")
    command = (
        *(openssl_program(), "req", "-x509", "-nodes", "-sha256", *_KINDS[kind], "-days", str(DAYS)),
        *("-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}"),
        *("-keyout", str(key), "-out", str(unfinished)),
    )
    key.touch(mode=0o600)
    try:
        made = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise HostError(f"openssl had not made a certificate after {LIMIT_S:.0f} s") from error
    if made.returncode != 0:
        raise HostError(f"openssl could not make a certificate: {made.stderr.strip()}")
    key.chmod(0o600)
    unfinished.rename(certificate)
    return key
