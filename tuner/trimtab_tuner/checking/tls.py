"""Rules about TLS: what of it a file leaves to the kernel."""

from collections.abc import Iterator

from trimtab_tuner.checking.contradiction import Contradiction, contradiction
from trimtab_tuner.checking.machine import Machine
from trimtab_tuner.checking.statements import ServerFile


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
