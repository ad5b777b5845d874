"""A rack of hosts for the tests: network namespaces on one bridge, each with a machine id and agents of its
own.

The test process has an address on the bridge too. A host's commands run in its network, mount and UTS
namespaces; what they keep lies in a folder of the host's. Sockets in the file system, such as PostgreSQL's,
are reached by all of them.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trimtab_agent.fleet.credentials import make_authority, make_member

TRIMTAB = (sys.executable, "-m", "trimtab_agent.terminal.main")
PORT = 8786
WITHIN_S = 300.0  # which only a fault reaches, also where others have the CPUs
IN_HOST = 'mount --bind /dev/null /etc/machine-id && hostname "$0" && exec "$@"'


class Rack:
    """The bridge, and what is attached to it; `folder` is where its hosts keep what they have."""

    def __init__(self, folder: Path, number: int = 0) -> None:
        self.folder = folder
        self._name = f"tt{os.getpid()}x{number}"
        self._net = f"10.213.{(os.getpid() + 50 * number) % 250}"
        self.hosts: dict[str, RackHost] = {}
        self.address = f"{self._net}.1"
        _ip("netns", "add", self._name)
        self._inside("link", "add", "bridge", "type", "bridge")
        self._inside("link", "set", "bridge", "up")
        self._attach(f"{self._name}h", None)
        _ip("addr", "add", f"{self.address}/24", "dev", f"{self._name}h")
        _ip("link", "set", f"{self._name}h", "up")
        self.authority = folder / "authority"
        make_authority(self.authority)
        self.credentials = folder / "test.pem"
        make_member(self.authority, "test", self.credentials)

    @property
    def scheduler(self) -> str:
        """Where a scheduler on the test process' own address listens."""
        return f"tls://{self.address}:{PORT}"

    def host(self, name: str, **environment: str) -> "RackHost":
        """A new host of that name."""
        number = len(self.hosts) + 2
        host = RackHost(self, name, f"{self._name}n{number}", f"{self._net}.{number}", dict(environment))
        _ip("netns", "add", host.namespace)
        host.port = f"{self._name}p{number}"
        self._attach("eth0", host.namespace, host.port)
        for command in (
            ("link", "set", "lo", "up"),
            ("addr", "add", f"{host.address}/24", "dev", "eth0"),
            ("link", "set", "eth0", "up"),
        ):
            _ip("-n", host.namespace, *command)
        self.hosts[name] = host
        return host

    def own(self, name: str, **environment: str) -> "RackHost":
        """A place for commands beside the hosts, in the network of the test process."""
        host = RackHost(self, name, "", self.address, dict(environment))
        self.hosts[name] = host
        return host

    def cut(self, host: "RackHost", *, off: bool = True) -> None:
        """Pulls the host's cable, or puts it in again."""
        self._inside("link", "set", host.port, "down" if off else "up")

    def remove(self) -> None:
        """Ends everything, the scheduler last because it was first, and takes it away."""
        for host in reversed(self.hosts.values()):
            host.end()
        for host in self.hosts.values():
            if host.namespace:
                _ip("netns", "del", host.namespace)
        # The kernel takes a namespace apart later; the next rack wants the name of this cable at once.
        _ip("link", "del", f"{self._name}h")
        _ip("netns", "del", self._name)

    def _attach(self, interface: str, namespace: str | None, port: str | None = None) -> None:
        """A cable from the bridge to an interface in a namespace, or to the test process'."""
        port = port or f"{self._name}p1"
        where = ("netns", namespace) if namespace else ()
        _ip("link", "add", port, "netns", self._name, "type", "veth", "peer", "name", interface, *where)
        self._inside("link", "set", port, "master", "bridge")
        self._inside("link", "set", port, "up")

    def _inside(self, *arguments: str) -> None:
        _ip("-n", self._name, *arguments)


@dataclass
class RackHost:
    """A host of the rack, or (without a namespace) a place for commands beside them."""

    rack: Rack
    name: str
    namespace: str
    address: str
    environment: dict[str, str]
    port: str = ""
    running: list["Agent"] = field(default_factory=list)

    @property
    def var(self) -> Path:
        """Where it keeps what it has."""
        return self.rack.folder / self.name

    @property
    def station(self) -> "Agent | None":
        """What runs here, and has not ended; the first, where there are several."""
        return next((agent for agent in self.running if agent.process.poll() is None), None)

    def environ(self) -> dict[str, str]:
        """The environment of its commands."""
        self.var.mkdir(exist_ok=True)
        credentials = self.rack.folder / f"{self.name}.pem"
        if not credentials.exists():
            make_member(self.rack.authority, self.name, credentials)
        return {
            **os.environ,
            "TRIMTAB_VAR": str(self.var),
            "TRIMTAB_LOCK": str(self.var / "machine.lock"),
            "TRIMTAB_FLEET": self.rack.scheduler,
            "TRIMTAB_FLEET_CREDENTIALS": str(credentials),
            **self.environment,
        }

    def command(self, *arguments: str, ahead: Sequence[str] = ()) -> list[str]:
        """A command of Trimtab's as it runs on this host; `ahead` is what runs it there."""
        if not self.namespace:
            return [*ahead, *TRIMTAB, *arguments]
        in_host = ("sh", "-c", IN_HOST, self.name)
        enter = ("ip", "netns", "exec", self.namespace, "unshare", "--mount", "--uts", *in_host)
        return [*enter, *ahead, *TRIMTAB, *arguments]

    def run(self, *arguments: str, expect: int = 0) -> Any:
        """Carries a command out; what it printed, as a document where it was asked for one."""
        done = subprocess.run(
            self.command(*arguments),
            env=self.environ(),
            capture_output=True,
            text=True,
            timeout=2 * WITHIN_S,
            check=False,
        )
        assert done.returncode == expect, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
        if "--json" in arguments:
            return json.loads(done.stdout)
        return done.stdout + done.stderr

    def start(self, *arguments: str, ahead: Sequence[str] = ()) -> "Agent":
        """Starts a command that goes on."""
        agent = Agent(self, self.command(*arguments, ahead=ahead))
        self.running.append(agent)
        return agent

    def join(self, role: str, ahead: Sequence[str] = ()) -> "Agent":
        """Starts its station, and waits until it is in the fleet."""
        agent = self.start("station", "join", self.rack.scheduler, "--role", role, ahead=ahead)
        agent.wait_for("is in the fleet")
        return agent

    def end(self) -> None:
        """Ends what runs here."""
        for agent in self.running:
            agent.end()


class Agent:
    """A process of a host's; what it says is in `log`."""

    def __init__(self, host: RackHost, command: Sequence[str]) -> None:
        self._command = command
        self._log = host.var / f"agent-{len(host.running)}.log"
        environment = host.environ()
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    @property
    def log(self) -> str:
        """What it has said so far."""
        return self._log.read_text(errors="replace")

    def wait_for(self, text: str) -> None:
        """Waits until it says so."""
        wait_until(lambda: text in self.log or self.process.poll() is not None, f"{text!r} in {self._log}")
        assert text in self.log, self.log

    def signal(self, number: signal.Signals) -> None:
        """Sends it a signal."""
        self.process.send_signal(number)

    def kill(self) -> None:
        """Kills it, and waits until it is dead."""
        self.process.kill()
        self.process.wait()

    def exit_code(self) -> int:
        """That of a process that ends by itself."""
        return self.process.wait(WITHIN_S)

    def end(self) -> int:
        """Has it end in good order; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            # unshare(1) passes no signal on to what it has forked; it ends that when it dies.
            self.process.send_signal(signal.SIGKILL if "--fork" in self._command else signal.SIGTERM)
        try:
            return self.exit_code()
        except subprocess.TimeoutExpired:
            self.kill()
            raise


def wait_until(holds: Callable[[], object], what: str) -> None:
    """Waits until something holds."""
    deadline = time.monotonic() + WITHIN_S
    while not holds():
        assert time.monotonic() < deadline, f"not within {WITHIN_S:.0f} s: {what}"
        time.sleep(0.02)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
