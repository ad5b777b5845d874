"""Rules about TLS: what of it a file leaves to the kernel, and certificates and keys that are not there."""

from collections.abc import Iterator

from trimtab_tuner.checking.contradiction import Contradiction, contradiction
from trimtab_tuner.checking.machine import UNSEEN, Machine
from trimtab_tuner.checking.statements import ServerFile, Statement

# What names a file that the server reads as it starts, and without which it does not.
_OF_NGINX = ("certificate", "certificate_key", "crl", "trusted_certificate", "password_file")
_FILES = {
    *(f"{kind}ssl_{name}" for kind in ("", "proxy_", "grpc_", "uwsgi_") for name in _OF_NGINX),
    "ssl_client_certificate", "ssl_dhparam", "ssl_session_ticket_key", "ssl_stapling_file",
    "sslcertificatefile", "sslcertificatekeyfile", "sslcertificatechainfile", "sslcacertificatefile",
    "sslcarevocationfile",
    "ssl.pemfile", "ssl.privkey", "ssl.ca-file", "ssl.ca-dn-file", "ssl.ca-crl-file", "ssl.dh-file",
    "certificate-file", "key-file", "client-ca-file", "dh-file",
}  # fmt: skip


def named_files(file: ServerFile) -> frozenset[str]:
    """The certificates, keys and their like that it names."""
    return frozenset(said.first for said in _naming(file))


def files_there(file: ServerFile, machine: Machine) -> Iterator[Contradiction]:
    """Certificates and keys that are missing or cannot be read: the server does not start with one."""
    for said in _naming(file):
        why = machine.unreadable.get(said.first)
        if why == UNSEEN:
            yield contradiction(
                "tls-file-not-seen",
                "note",
                said,
                f"{said.said}: whether it is there could not be seen.",
                f"{said.first}: {why}",
                suggestion="Check as root.",
            )
        elif why is not None:
            yield contradiction(
                "tls-file-unreadable",
                "error",
                said,
                f"{said.said}: {why}, so {file.target.program} does not start.",
                f"{said.first}: {why}",
                suggestion="Put the file there, or name the one that is meant.",
            )


def _naming(file: ServerFile) -> Iterator[Statement]:
    """What names a file of TLS by its whole path, and applies."""
    modules = {loaded.first for loaded in file.named("loadmodule")}
    for said in file.named(*_FILES):
        under_condition = said.inside("ifmodule", "ifdefine", "iffile")
        if under_condition and "ssl_module" not in modules:
            continue
        if said.first.startswith("/") and not {"$", '"'} & {*said.first}:
            yield said


def by_kernel(file: ServerFile, machine: Machine) -> Iterator[Contradiction]:
    """nginx is to have the kernel encrypt what is sent (kTLS); else `sendfile` does nothing over TLS.

    Its workers have no right to have the module loaded, so it counts only where it is there already.
    """
    if machine.protocols_over_tcp is None or "tls" in machine.protocols_over_tcp:
        return
    for said in file.named("ssl_conf_command"):
        options = "".join(said.arguments[1:]).split(",")
        if said.first == "Options" and {"KTLS", "+KTLS"} & set(options):
            yield contradiction(
                "tls-not-by-kernel",
                "note",
                said,
                f"{said.said}: this kernel has no TLS, so nginx encrypts by itself, and there sendfile does "
                "nothing.",
                f"net.ipv4.tcp_available_ulp = {' '.join(sorted(machine.protocols_over_tcp))}",
                said.said,
                suggestion="modprobe tls, kept in /etc/modules-load.d, or a kernel that has this module.",
            )
