"""Certificates for a server under test, made on the spot: each signs itself, and nobody checks it.

They are kept for as long as the run's directory is, so that all its trials meet the same ones.
"""

import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from trimtab_tuner.targets import tls

from trimtab_agent.errors import BinaryMissing, HostError

NAME = "trimtab.test"
DAYS = 365
LIMIT_S = 60.0
_KINDS = {
    "rsa": ("-newkey", "rsa:2048"),
    "ecdsa": ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
}


class KeyKind(NamedTuple):
    """A key: RSA with so many bits, EC on a curve, or one of those that have one size."""

    algorithm: str = "RSA"
    bits: int = 2048
    curve: str = ""

    @property
    def options(self) -> tuple[str, ...]:
        """Those of `openssl req` that make one."""
        if self.algorithm == "RSA":
            return "-newkey", f"rsa:{self.bits}"
        if self.algorithm == "EC":
            return "-newkey", "ec", "-pkeyopt", f"ec_paramgen_curve:{self.curve}"
        return "-newkey", self.algorithm.lower()

    def __str__(self) -> str:
        if self.algorithm == "RSA":
            return f"RSA of {self.bits:,} bits"
        return f"EC on {self.curve}" if self.algorithm == "EC" else self.algorithm


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


def make_pair(file: Path, kind: KeyKind) -> None:
    """Makes a certificate and its key in one file, for its owner's eyes only, unless it is there.

    Raises BinaryMissing, HostError.
    """
    if file.exists():
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    key, certificate = file.with_suffix(".key"), file.with_suffix(".crt")
    _request(certificate, key, kind.options)
    both = file.with_suffix(".new")
    both.touch(mode=0o600)
    both.write_bytes(certificate.read_bytes() + key.read_bytes())
    both.rename(file)


def kind_of(certificate: Path) -> KeyKind | None:
    """The kind of key that a certificate is for; None where that cannot be read. Raises BinaryMissing."""
    command = (openssl_program(), "x509", "-in", str(certificate), "-noout", "-text")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return None
    algorithm = re.search(r"Public Key Algorithm: (\S+)", done.stdout)
    if done.returncode != 0 or algorithm is None:
        return None
    bits, curve = re.search(r"\((\d+) bit\)", done.stdout), re.search(r"ASN1 OID: (\S+)", done.stdout)
    if algorithm[1] == "rsaEncryption" and bits is not None:
        return KeyKind(bits=int(bits[1]))
    if algorithm[1] == "id-ecPublicKey" and curve is not None:
        return KeyKind("EC", curve=curve[1])
    return KeyKind(algorithm[1]) if algorithm[1] in ("ED25519", "ED448") else None


def _make(directory: Path, kind: str) -> Path:
    certificate = Path(tls.certificate_file(str(directory), kind))
    key = Path(tls.key_file(str(directory), kind))
    if not certificate.exists():
        _request(certificate, key, _KINDS[kind])
    return key


def _request(certificate: Path, key: Path, options: tuple[str, ...]) -> None:
    unfinished = certificate.with_suffix(".new")
    command = (
        *(openssl_program(), "req", "-x509", "-nodes", "-sha256", *options, "-days", str(DAYS)),
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
