"""What a MariaDB server has counted, and with which values of its variables it runs: asked over SQL.

A connection is made for each question, on the port that has a thread of its own for it, so that a server
whose connections or threads are all taken still answers. The time it is given is short, as the sampler waits
for it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pymysql
from pymysql.cursors import Cursor
from trimtab_trials.configuration import Configuration
from trimtab_tuner.targets.base import Target
from trimtab_tuner.workloads import shop

TIMEOUT_S = 0.5


class StatusQuery:
    """The counters of one running server, asked for at `address:port`."""

    what = "its port for questions"

    def __init__(self, target: Target, address: str, port: int) -> None:
        self._target = target
        self._address = address
        self._port = port

    def answers(self, timeout_s: float) -> bool:
        """Whether it answers."""
        return self._ask("SELECT 1", timeout_s) is not None

    def read(self) -> dict[str, float]:
        """What it has counted; empty when it does not answer in time."""
        rows = self._ask("SHOW GLOBAL STATUS", TIMEOUT_S)
        return self._target.parse_status("".join(f"{name}\t{value}\n" for name, value in rows or ()))

    def runs_with(self, timeout_s: float) -> Configuration:
        """The knobs as they are in force; empty when it does not answer."""
        rows = self._ask("SHOW GLOBAL VARIABLES", timeout_s) or ()
        return self._target.parse("[mariadbd]\n" + "".join(f"{name} = {value}\n" for name, value in rows))

    def carry_out(self, statements: Sequence[str], timeout_s: float) -> None:
        """Has it carry out these statements about the shop. Raises pymysql.MySQLError or OSError."""
        with self._connected(timeout_s, shop.DATABASE) as cursor:
            for statement in statements:
                cursor.execute(statement)
                cursor.fetchall()

    def _ask(self, statement: str, timeout_s: float) -> Sequence[tuple[str, str]] | None:
        try:
            with self._connected(timeout_s) as cursor:
                cursor.execute(statement)
                rows: Sequence[tuple[str, str]] = cursor.fetchall()
        except (pymysql.MySQLError, OSError):
            return None
        return rows

    @contextmanager
    def _connected(self, timeout_s: float, database: str | None = None) -> Iterator[Cursor]:
        with (
            pymysql.connect(
                host=self._address,
                port=self._port,
                user=shop.USER,
                database=database,
                connect_timeout=timeout_s,
                read_timeout=timeout_s,
            ) as connection,
            connection.cursor() as cursor,
        ):
            yield cursor
