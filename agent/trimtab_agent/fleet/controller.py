"""The fleet as a study sees it: who is there, and orders carried to stations by the engine.

Everything here may be called from any thread. What the engine forgets (it was started anew, a connection
broke) comes back as `Forgotten`: then the database says what has become of the order.
"""

import asyncio
import concurrent.futures
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from distributed import Client
from distributed.core import rpc
from trimtab_trials.host import Host

from trimtab_agent.errors import FleetError
from trimtab_agent.fleet import work
from trimtab_agent.fleet.credentials import security_of
from trimtab_agent.fleet.engine import mismatch, normal_address, prepare_engine
from trimtab_agent.fleet.loop import LoopThread
from trimtab_agent.fleet.member import topic_of
from trimtab_agent.fleet.work import Answer, AtGenerator, WorkOrder

log = logging.getLogger(__name__)

CONNECT_S = 15.0
ASK_S = 15.0

OnEvent = Callable[[dict[str, Any]], None]


class Forgotten(Exception):
    """The engine does not know any more what has become of an order."""


@dataclass(frozen=True, kw_only=True)
class Present:
    """A station that is in the fleet now; `last_seen` is by the scheduler's clock."""

    name: str
    role: str
    address: str
    facts: dict[str, Any]
    condition: dict[str, Any]
    last_seen: float

    @property
    def host(self) -> Host:
        """Its machine."""
        return Host(**self.facts["host"])


class Fleet:
    """The fleet of the scheduler at `address`; raises FleetError when it cannot be reached."""

    def __init__(self, address: str, credentials: Path) -> None:
        prepare_engine()
        self.address = normal_address(address)
        self.security = security_of(credentials)
        self._loop = LoopThread("fleet")
        self._client: Client | None = None
        self._connecting = asyncio.Lock()
        self._listeners: dict[str, OnEvent] = {}
        self._guard = threading.Lock()
        self._subscribed: set[str] = set()
        self._orders = 0
        try:
            self._run(self._ask_what_is_spoken())
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Goes away; stations go on with what they have."""

        async def close() -> None:
            if self._client is not None:
                await self._client.close(timeout=1)

        with suppress(Exception):
            self._loop.run(close(), ASK_S)
        self._loop.close()

    def present(self) -> dict[str, Present]:
        """The stations that are there now, by name; raises FleetError."""

        async def ask() -> dict[str, Any]:
            async with self._rpc(self.address) as scheduler:
                said: dict[str, Any] = await asyncio.wait_for(scheduler.identity(), ASK_S)
            return said

        said = self._run(ask())
        return {
            worker["name"]: Present(
                name=worker["name"],
                role=worker["trimtab"]["role"],
                address=address,
                facts=worker["trimtab"],
                condition=worker["metrics"].get("trimtab", {}),
                last_seen=worker["last_seen"],
            )
            for address, worker in said["workers"].items()
        }

    def generators(self, names: tuple[str, ...]) -> tuple[AtGenerator, ...]:
        """Where these generators are now; raises FleetError for one that is not there."""
        present = self.present()
        for name in names:
            if name not in present:
                there = ", ".join(sorted(present)) or "nobody"
                raise FleetError(f"the generator {name} is not in the fleet; in it now: {there}")
            if present[name].role != "generator":
                raise FleetError(f"{name} is in the fleet as a {present[name].role}: expected a generator")
        return tuple(AtGenerator(name=name, address=present[name].address) for name in names)

    def listen(self, name: str, on_event: OnEvent) -> None:
        """Has a station's events told from now on, in a thread of the fleet's."""
        with self._guard:
            self._listeners[name] = on_event
        self._run(self._connected())

    def carry_out(self, address: str, order: WorkOrder) -> "concurrent.futures.Future[Answer]":
        """Hands an order to the station at that address; its answer later, or Forgotten."""
        return self._loop.start(self._ask(address, work.carry_out, order.model_dump_json(), held="server"))

    def prepare(self, address: str, workload_json: str) -> "concurrent.futures.Future[Answer]":
        """Has a station make ready what a workload needs."""
        return self._loop.start(self._ask(address, work.prepare, workload_json, held="server"))

    def tell(self, address: str, operation: str, **told: Any) -> None:  # noqa: ANN401 - plain values
        """Tells a station something directly; raises FleetError when it cannot be reached."""

        async def tell() -> None:
            try:
                async with self._rpc(address) as station:
                    await asyncio.wait_for(getattr(station, operation)(**told), ASK_S)
            except (OSError, TimeoutError) as error:
                raise FleetError(f"the station at {address} does not answer: {_why(error)}") from error

        self._run(tell())

    def _rpc(self, address: str) -> Any:  # noqa: ANN401 - the library's is not typed
        return rpc(address, connection_args=self.security.get_connection_args("client"), timeout=CONNECT_S)

    async def _ask(self, address: str, function: Callable[[str], str], text: str, held: str) -> Answer:
        try:
            client = await self._connected()
            with self._guard:
                self._orders += 1
                key = f"{function.__name__}-{client.id}-{self._orders}"
            future = client.submit(
                function, text, key=key, workers=[address], resources={held: 1}, pure=False, retries=0
            )
            try:
                return Answer.model_validate_json(await future)
            finally:
                future.release()
        except asyncio.CancelledError:
            raise Forgotten("the order was cancelled") from None
        except Exception as error:
            raise Forgotten(f"{type(error).__name__}: {error}") from error

    async def _ask_what_is_spoken(self) -> None:
        """Raises FleetError when it is something else than here."""
        async with self._rpc(self.address) as scheduler:
            said = await asyncio.wait_for(scheduler.identity(n_workers=0), ASK_S)
        if refusal := mismatch(said.get("versions"), f"the scheduler at {self.address}"):
            raise FleetError(refusal)

    async def _connected(self) -> Client:
        """The connection to the scheduler, made anew when it was lost; raises FleetError."""
        async with self._connecting:
            if self._client is not None and self._client.status == "running":
                self._subscribe(self._client)
                return self._client
            if self._client is not None:
                await self._client.close(timeout=1)
                self._client = None
            try:
                await self._ask_what_is_spoken()
                client = Client(
                    self.address,
                    security=self.security,
                    asynchronous=True,
                    set_as_default=False,
                    direct_to_workers=False,
                    timeout=CONNECT_S,
                    name="trimtab",
                )
                await client
                client._timeout = 0.0  # what is lost is noticed at once, and connected anew here
            except (OSError, TimeoutError) as error:
                raise FleetError(f"no scheduler answers at {self.address}: {_why(error)}") from error
            self._client = client
            self._subscribed.clear()
            self._subscribe(client)
            return client

    def _subscribe(self, client: Client) -> None:
        with self._guard:
            wanted = {topic_of(name): on_event for name, on_event in self._listeners.items()}
        for topic in wanted.keys() - self._subscribed:
            client.subscribe_topic(topic, lambda event, told=wanted[topic]: told(event[1]))
            self._subscribed.add(topic)

    def _run(self, coroutine: Any) -> Any:  # noqa: ANN401 - whatever that returns
        try:
            return self._loop.run(coroutine, CONNECT_S + ASK_S)
        except (OSError, TimeoutError, concurrent.futures.TimeoutError) as error:
            raise FleetError(f"no scheduler answers at {self.address}: {_why(error)}") from error


def _why(error: Exception) -> str:
    return str(error) or "it took too long"
