"""Debian's PostgreSQL for the tests: a server of their own, on a socket alone, that keeps nothing.

It runs in a new folder under the system's temporary one, as `nobody` where root runs the tests (PostgreSQL
does not run as root), and ends with the process that has started it, whatever ends that.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from itertools import count
from pathlib import Path

import psycopg

PROGRAMS = Path("/usr/lib/postgresql")
STARTED_WITHIN_S = 60
POLLED_EVERY_S = 0.02
USER = "trimtab"
LOCKED_USER, ITS_KEY = "who-needs-a-password", "the right one"
SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "shared_buffers": "16MB",
    "max_connections": "40",
}
HBA = f"""
local all {LOCKED_USER} scram-sha-256
local all all trust
"""


class PostgresqlServer:
    """A running server; raises RuntimeError with what PostgreSQL said if it does not start."""

    def __init__(self) -> None:
        found = sorted(PROGRAMS.glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
        if not found:
            raise RuntimeError(f"no PostgreSQL in {PROGRAMS}: `apt-get install postgresql`")
        self.folder = Path(tempfile.mkdtemp(prefix="trimtab-pg-"))
        self._data, self._log = self.folder / "data", self.folder / "log"
        self._programs = found[-1].parent
        self._numbers = count(1)
        self._unprivileged: tuple[str, ...] = ()
        if os.geteuid() == 0:
            shutil.chown(self.folder, "nobody", "nogroup")
            self._unprivileged = ("--reuid=nobody", "--regid=nogroup", "--clear-groups", "--inh-caps=-all")
        self._run("initdb", "-U", USER, "--auth=trust", "-E", "UTF8", "--no-locale", "--no-sync")
        (self._data / "pg_hba.conf").write_text(HBA)
        self.start()
        with self.connect("postgres") as connection:
            connection.execute(f"CREATE ROLE \"{LOCKED_USER}\" LOGIN PASSWORD '{ITS_KEY}'")

    def start(self) -> None:
        """Start the server, and wait until it takes connections."""
        settings = [f"--{name}={value}" for name, value in SETTINGS.items()]
        command = [self._programs / "postgres", "-D", self._data, "-k", self.folder, *settings]
        with self._log.open("ab") as log:
            # SIGQUIT ends a server and all its processes at once.
            self._process = subprocess.Popen(
                ["setpriv", *self._unprivileged, "--pdeathsig=QUIT", "--", *command], stdout=log, stderr=log
            )
        self._wait_until_it_answers()

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + STARTED_WITHIN_S
        while True:
            try:
                return self.connect("postgres").close()
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"PostgreSQL does not start: {self._log.read_text()}") from None
            time.sleep(POLLED_EVERY_S)

    def stop(self) -> None:
        """End the server at once: clients lose their connections."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait()

    def remove(self) -> None:
        """End it, and leave nothing behind."""
        self.stop()
        shutil.rmtree(self.folder)

    def connect(self, database: str) -> psycopg.Connection:
        """The driver's own connection, on which every statement is its own transaction."""
        return psycopg.connect(host=str(self.folder), user=USER, dbname=database, autocommit=True)

    def url(self, database: str, user: str = USER) -> str:
        """The URL of a database; `user` may hold a password (`user:password`)."""
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def new_database(self, template: str = "template0") -> str:
        """The name of a new database, which is a copy of the template; that of PostgreSQL's own is empty."""
        name = f"trimtab_{next(self._numbers)}"
        with self.connect("postgres") as connection:
            # Without fsync, copying files is quicker than writing each of their pages to the log.
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        return name

    def drop(self, database: str) -> None:
        """Remove a database, whoever is connected to it."""
        with self.connect("postgres") as connection:
            connection.execute(f"DROP DATABASE {database} WITH (FORCE)")

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            ["setpriv", *self._unprivileged, "--", self._programs / program, "-D", self._data, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            log = self._log.read_text() if self._log.exists() else ""
            raise RuntimeError(f"{program} failed: {done.stdout}{log}")
