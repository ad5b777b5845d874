"""The engine that connects the hosts of a fleet, Dask distributed, made ready for that.

DESIGN.  What the engine is for: who is there, connections with TLS both ways, one work order at a time to a
station. It is not trusted with anything that must not be lost: what is to be done and what came of it stand
in the database, under leases (trimtab_db/repository/bookings.py).

Dask carries Python objects as pickles, and whoever may send a pickle may run any code where it is unpacked.
Here only what is in `CARRIED` is unpacked: the engine's own envelopes, and the functions of `work.py` by
their names, whose one argument is a text. So a member of the fleet can ask another one for what `work.py`
does, and for nothing else. `prepare_engine` must be called before anything else of the engine is used.
"""

import io
import logging
import pickle
import re
from collections.abc import Collection, Iterable
from types import SimpleNamespace
from typing import Any, Final

import dask
import distributed
import distributed.client
import distributed.protocol.pickle
import distributed.scheduler
from distributed.comm import get_local_address_for, parse_address

from trimtab_agent import __version__
from trimtab_agent.errors import FleetError

PROTOCOL: Final = 1
"""Of what stations, scheduler and studies say to each other; grows with each change of it."""

PORT: Final = 8786
LAST_PORT: Final = 65535
SCHEME: Final = "tls://"
PLACE: Final = re.compile(r"(tls://)?(?P<host>[0-9A-Za-z._-]+|\[[0-9a-fA-F:.]+\])(:(?P<port>[0-9]{1,5}))?")

CARRIED: Final = frozenset(
    {
        ("builtins", "bytes"),
        ("dask._expr", "Expr._reconstruct"),
        ("dask._expr", "LLGExpr"),
        ("dask._task_spec", "Task"),
        ("distributed.scheduler", "KilledWorker"),
        ("distributed.scheduler", "NoValidWorkerError"),
        ("distributed.scheduler", "WorkerState"),
        ("trimtab_agent.fleet.work", "carry_out"),
        ("trimtab_agent.fleet.work", "prepare"),
    }
)

ANSWERED_BY_WORKERS: Final = frozenset({"identity", "connection_stream", "get_data"})
ANSWERED_BY_SCHEDULERS: Final = frozenset(
    {
        *("identity", "connection_stream", "register-client", "register-worker", "unregister"),
        *("gather", "heartbeat_worker"),
    }
)
"""What the engine's own parts answer. Dask answers much else, such as to take a file and to import it."""

CONFIGURATION: Final = {
    # A host under load answers late, and is not dead for that: leases say who still works.
    "distributed.comm.timeouts.connect": "10s",
    "distributed.comm.timeouts.tcp": "60s",
    "distributed.scheduler.worker-ttl": "5 minutes",
    # Whether work is done again is decided here, and not by the engine.
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.admin.low-level-log-length": 10,  # events are for those who listen now
    "distributed.admin.tick.limit": "60s",  # or it complains of every busy moment
}


class ForeignPickleError(pickle.UnpicklingError):
    """Somebody has sent something that the fleet does not carry."""


class _Unpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Any:  # noqa: ANN401 - as of the library
        if (module_name, global_name) not in CARRIED:
            raise ForeignPickleError(f"{module_name}.{global_name} is not carried by the fleet")
        return super().find_class(module_name, global_name)


def _loads(data: bytes, *, buffers: Iterable[Any] = ()) -> Any:  # noqa: ANN401 - as of the library
    return _Unpickler(io.BytesIO(data), buffers=buffers).load()


class WithoutHttp:
    """For a server of Dask's, before its own class: it would tell anybody over HTTP, without TLS and on a
    port of its own, who is there and what they do.
    """

    def start_http_server(self, *_arguments: object, **_options: object) -> None:
        """Opens none."""


def prepare_engine() -> None:
    """Sets the engine up in this process; a second time changes nothing."""
    dask.config.set(CONFIGURATION)
    distributed.protocol.pickle.loads = _loads
    # These two unpack without the protocol's help in a few places.
    guarded = SimpleNamespace(**{**vars(pickle), "loads": _loads})
    for module in (distributed.client, distributed.scheduler):
        setattr(module, "pickle", guarded)  # noqa: B010 - the library's types know it as a module
    engine_log = logging.getLogger("distributed")
    engine_log.handlers.clear()
    engine_log.propagate = True
    engine_log.setLevel(logging.ERROR)
    for name in ("distributed.client", "distributed.worker", "distributed.scheduler", "distributed.core"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters is told in our own sentences


def answer_only(handlers: dict[str, Any], names: Collection[str]) -> None:
    """Leaves of a server's handlers those of these names."""
    for name in handlers.keys() - set(names):
        del handlers[name]


def versions() -> dict[str, str | int]:
    """What this side speaks."""
    return {"protocol": PROTOCOL, "engine": distributed.__version__, "trimtab": __version__}


def mismatch(theirs: object, who: str) -> str:
    """A sentence on why `who`, who speaks `theirs`, cannot be worked with; empty if it can."""
    said = theirs if isinstance(theirs, dict) else {}
    ours = versions()
    if all(said.get(name) == ours[name] for name in ours):
        return ""
    told = [
        "protocol {protocol} with Dask {engine} (Trimtab {trimtab})".format_map(
            {"protocol": "unknown", "engine": "unknown", "trimtab": "unknown", **side}
        )
        for side in (said, ours)
    ]
    return f"{who} speaks {told[0]}, this side {told[1]}: expected the same version of Trimtab on all hosts"


def own_address(address: str) -> str:
    """The address of this machine on the way to that one of the engine's."""
    place: str = parse_address(get_local_address_for(address))[1]
    return place.strip("[]")


def normal_address(text: str) -> str:
    """`host`, `host:port` or `tls://host:port` as the engine writes it; raises FleetError."""
    found = PLACE.fullmatch(text)
    if found is None or int(found["port"] or PORT) > LAST_PORT:
        raise FleetError(f"{text}: expected the scheduler as {SCHEME}HOST or {SCHEME}HOST:PORT")
    return f"{SCHEME}{found['host']}:{found['port'] or PORT}"
