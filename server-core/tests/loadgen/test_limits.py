"""When the generator itself is the limit: it says so, and nothing is dropped in silence."""

import ctypes
import fcntl
import os
import resource
import socket
import struct
import threading
from pathlib import Path

import pytest

CLONE_NEWNET = 0x40000000  # linux/sched.h
SIOCSIFFLAGS = 0x8914  # linux/sockios.h
IFF_UP = 1


def test_descriptor_limit_drops_sessions_with_a_reason(load, serve):
    """With 20 descriptors and sessions that stay open, most of 100 arrivals cannot be started."""

    def limit_descriptors():
        resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))

    result = load(
        serve(lambda connection: connection.stall()).url,
        *("--rate", "200", "--duration", "0.5", "--session-requests", "2"),
        *("--timeout", "4", "--connect-timeout", "60"),
        preexec_fn=limit_descriptors,
    ).result
    assert result["sessions"]["offered"] == 50
    assert result["health"]["dropped_for_descriptors"] >= 50 - 20
    assert 2 * result["sessions"]["dropped"] == result["requests"]["dropped"]
    assert result["health"]["most_open"] == result["sessions"]["started"]
    assert result["health"]["verdict"] == "generator-limited"
    assert any("open files" in reason for reason in result["health"]["reasons"])


def test_soft_descriptor_limit_is_raised(load, serve):
    """Only the hard limit counts."""

    def limit_descriptors():
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (20, hard))

    result = load(
        serve(lambda connection: connection.stall()).url,
        *("--rate", "100", "--duration", "0.5", "--timeout", "1"),
        preexec_fn=limit_descriptors,
    ).result
    assert result["health"]["dropped_for_descriptors"] == 0


def enter_network_of_ten_ports():
    """Moves the calling thread into a network of its own, of which the loopback has ten local ports."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))
    Path("/proc/sys/net/ipv4/ip_local_port_range").write_text("40000 40009")


def test_port_shortage_drops_sessions_with_a_reason(load, serve):
    """Ten local ports carry ten open sessions; the other arrivals are dropped for ports."""
    results = []

    def script(connection):
        connection.stall()

    def in_own_network():
        try:
            enter_network_of_ten_ports()
        except OSError as error:
            results.append(error)
            return
        arguments = ("--rate", "60", "--duration", "0.5", "--source", "127.0.0.1")
        arguments += ("--timeout", "4", "--connect-timeout", "60")
        results.append(load(serve(script).url, *arguments).result)

    thread = threading.Thread(target=in_own_network)
    thread.start()
    thread.join()
    [result] = results
    if isinstance(result, OSError):
        pytest.skip(f"network namespaces are not to be had here: {result}")
    assert result["sessions"]["offered"] == 30
    assert 20 <= result["health"]["dropped_for_ports"] == result["requests"]["dropped"]
    assert result["health"]["verdict"] == "generator-limited"
    assert any("local port" in reason for reason in result["health"]["reasons"])


@pytest.mark.live
def test_impossible_rate_is_generator_limited(load, serve):
    """Ten million sessions a second cannot be started; those that came too late to start are dropped."""
    result = load(
        serve(lambda connection: connection.stall()).url,
        *("--rate", "10000000", "--duration", "0.02", "--timeout", "0.2"),
    ).result
    assert result["requests"]["offered"] == 200_000
    assert result["health"]["verdict"] == "generator-limited"
    assert result["health"]["late_arrivals"] > 0
    assert result["health"]["lateness_max_us"] >= result["health"]["lateness_p99_us"] > 1000
