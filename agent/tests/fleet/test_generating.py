"""A generator as stations and whoever drains it meet it: it works for one station until that hangs up."""

import asyncio

import pytest
from distributed.comm import CommClosedError
from trimtab_agent.fleet.engine import versions
from trimtab_agent.fleet.generating import Generating


@pytest.fixture(autouse=True)
def namespaces():
    """None is needed here."""


class Station:
    """The connection of a station that says nothing more once it has engaged a generator."""

    def __init__(self):
        self.answers = []
        self._gone = asyncio.Event()

    async def write(self, said):
        """It is told something."""
        self.answers.append(said)

    async def read(self):
        """Nothing until it hangs up."""
        await self._gone.wait()
        raise CommClosedError("it has hung up")

    def abort(self):
        """It is hung up on."""

    def hang_up(self):
        """It goes."""
        self._gone.set()


def test_generator_that_is_drained_leaves_when_its_station_has_hung_up(tmp_path):
    """And whoever has it drained goes on at once, however long that takes."""

    async def drain():
        generating, station, left = Generating(tmp_path / "load", (0,), tmp_path), Station(), asyncio.Event()
        working = asyncio.ensure_future(generating.engage(station, dict(versions()), "web1"))
        while not station.answers:
            await asyncio.sleep(0)
        generating.when_idle(left.set)
        for _ in range(10):
            await asyncio.sleep(0)
        assert generating.doing == "loads web1"
        assert not left.is_set()
        station.hang_up()
        await working
        await left.wait()
        assert generating.doing == ""
        generating.close()

    asyncio.run(asyncio.wait_for(drain(), 60))
