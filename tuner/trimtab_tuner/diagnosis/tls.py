"""The rule about TLS: where handshakes take the CPU."""

from trimtab_trials.measurement import Measurement

from trimtab_tuner.diagnosis.chart import over_rates
from trimtab_tuner.diagnosis.evidence import RunEvidence
from trimtab_tuner.diagnosis.finding import Finding, finding
from trimtab_tuner.roles import Role
from trimtab_tuner.wording import in_percent

HANDSHAKE_SHARE = 0.4
# AES-GCM is faster than this on processors with instructions for it (`openssl speed -evp aes-128-gcm`): what
# encryption is said to take is rather too much.
ENCRYPTED_BYTES_PER_CPU_S = 1e9


def handshakes_take_the_cpu(run: RunEvidence) -> Finding | None:
    """At saturation much of the server's CPU time is user mode, and encryption does not account for it.

    A server of files needs the kernel; what it computes itself it computes for handshakes.
    """
    rate = run.saturated_rate
    each_us, share = cpu_us_per_handshake(rate), handshake_share(rate)
    if each_us is None or share is None or not run.saturated(rate) or share < HANDSHAKE_SHARE:
        return None
    per_s = rate.counter("tls", "handshakes_per_s") or 0.0
    resumed = rate.counter("tls", "resumed_percent") or 0.0
    each_ms = each_us / 1000
    return finding(
        "handshakes-take-the-cpu",
        run.best,
        rate,
        sentence=(
            f"At {run.level(rate)} the server makes {per_s:,.0f} TLS handshakes a second, {resumed:.0f} % of "
            f"them resumed, and they take up to {in_percent(share)} of its CPU time: {each_ms:.2f} ms each."
        ),
        facts={
            "handshakes": (per_s, "1/s"),
            "resumed": (resumed, "%"),
            "CPU per handshake, at most": (each_ms, "ms"),
            "handshakes' share of the server's CPU time": (100 * share, "%"),
        },
        chart=over_rates(
            run.clients,
            "handshakes' share of the server's CPU time",
            "%",
            {"handshakes": (run.best, _share_percent)},
            threshold=100 * HANDSHAKE_SHARE,
        ),
        suggestion=(
            f"Let clients resume their sessions, by {run.called('a shared cache', Role.TLS_SESSIONS)} or by "
            f"tickets; {run.called('sign with ECDSA instead of RSA', Role.TLS_KEY)}; "
            f"{run.called('keep connections open for longer', Role.KEEPALIVE_TIME)}."
        ),
        knob=_to_turn(run),
        source=(
            "RFC 8446, section 2.2: a resumed handshake needs no signature; "
            "`openssl speed rsa2048 ecdsap256` tells what one costs."
        ),
    )


def cpu_us_per_handshake(rate: Measurement) -> float | None:
    """The CPU time that a handshake took the server, new or resumed, at most: what it computed in user mode
    beyond encryption, over the number of handshakes.

    None where that was not counted, nobody made any, or a program behind the server computed too.
    """
    user, per_s = rate.counter("server_processes", "user"), rate.counter("tls", "handshakes_per_s")
    if user is None or not per_s or rate.counter("backend", "children"):
        return None
    encrypting = rate.goodput_mbps * 1e6 / 8 / ENCRYPTED_BYTES_PER_CPU_S
    return 1e6 * max(0.0, user / 100 - encrypting) / per_s


def handshake_share(rate: Measurement) -> float | None:
    """The share of the server's CPU time, 0 to 1, that handshakes took at most; None where nobody knows."""
    each_us, used = cpu_us_per_handshake(rate), _server_cpus(rate)
    if each_us is None or not used:
        return None
    return each_us / 1e6 * (rate.counter("tls", "handshakes_per_s") or 0.0) / used


def _share_percent(rate: Measurement) -> float | None:
    share = handshake_share(rate)
    return None if share is None else 100 * share


def _server_cpus(rate: Measurement) -> float | None:
    """How many CPUs the server's processes kept busy."""
    user, system = (rate.counter("server_processes", name) for name in ("user", "system"))
    return None if user is None or system is None else (user + system) / 100


def _to_turn(run: RunEvidence) -> str | None:
    """The kind of key while it is RSA, else the cache of sessions."""
    key = run.space.of_role(Role.TLS_KEY)
    if key is not None and run.value(key) == "rsa":
        return key.name
    return run.knob_of(Role.TLS_SESSIONS)
