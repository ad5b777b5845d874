"""HTTPS of a target: knobs that several servers have, and where certificates lie.

A run makes its certificates itself, one for each kind of key, so that the kind can be a knob. What else a
server has for TLS are knobs of its own (`Target.tls_knobs`). They exist only in runs whose workload has
`[tls]`.
"""

import re
from collections.abc import Mapping, Sequence

from trimtab_tuner.roles import Role
from trimtab_tuner.space import Knob, Space

KEY = Knob(
    name="tls_key",
    role=Role.TLS_KEY,
    kind="categorical",
    choices=("rsa", "ecdsa"),
    default="rsa",
    help="Kind of the server's key, each with a certificate: RSA of 2,048 bits, or ECDSA on curve P-256.",
)


def session_cache(name: str) -> Knob:
    """Memory for sessions, which all workers share; none by the server's own default."""
    return Knob(
        name=name,
        role=Role.TLS_SESSIONS,
        kind="ordinal",
        choices=(0, 1, 10, 50),
        default=0,
        unit="MB",
        resource_weight=1024.0,
        scope="total",
        help="Memory for sessions to be resumed, shared by the workers; 0: none.",
    )


def session_tickets(name: str) -> Knob:
    """A switch that is on by the server's own default."""
    return Knob(
        name=name,
        role=Role.TLS_TICKETS,
        kind="categorical",
        choices=("off", "on"),
        default="on",
        help="Whether clients keep their sessions, encrypted by the server, so that it need not.",
    )


PROTOCOLS = ("TLSv1.2", "TLSv1.3")
"""What a server is to speak: which of them is used the clients say."""


def speaks_tls(configuration: Mapping[str, object]) -> bool:
    """Whether a configuration is one of TLS: only those have a kind of key."""
    return KEY.name in configuration


def with_tls(space: Space, knobs: Sequence[Knob]) -> Space:
    """The space with a target's knobs of TLS to tune."""
    return space.model_copy(update={"knobs": (*space.knobs, *knobs)})


_KEY = re.compile(r"(\w*ssl_certificate)_key|sslcertificatekeyfile|ssl\.privkey|key-file", re.IGNORECASE)
_CERTIFICATE = re.compile(
    r"\w*ssl_certificate|sslcertificatefile|ssl\.pemfile|certificate-file", re.IGNORECASE
)


def is_key(name: str) -> bool:
    """Whether a setting of one of the servers names the key of a certificate."""
    return _KEY.fullmatch(name) is not None


def family(name: str) -> str | None:
    """What the settings of a key and of its certificate have in common, where a server has several such;
    None for a setting that is neither.
    """
    key = _KEY.fullmatch(name)
    if key is not None:
        return key[1] or ""
    certificate = _CERTIFICATE.fullmatch(name)
    return None if certificate is None else name if "_" in name else ""


def certificate_file(directory: str, key: object) -> str:
    """The certificate for that kind of key, in PEM form."""
    return f"{directory}/{key}.pem"


def made_file(directory: str) -> str:
    """A certificate and its key in one, for a site of a user's file that names none."""
    return f"{directory}/made.pem"


def key_file(directory: str, key: object) -> str:
    """The key itself, in PEM form, for its owner's eyes only."""
    return f"{directory}/{key}.key"
