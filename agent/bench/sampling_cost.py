"""What sampling the counters once a second costs: CPU time of this process while a sampler runs in it.

The sampler is the daemon's own, with its database and a running trimtab-httpd to ask; nothing else
happens in the process meanwhile. CPU time is that of all threads of the process.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import psutil
from trimtab_agent.broadcast import Broadcaster
from trimtab_agent.counters.sampler import Sampler
from trimtab_agent.host import describe_host
from trimtab_db import open_database, sqlite_url

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "server-core" / "bench"))
import servers

WINDOW_S = 10
WINDOWS = 3


def main() -> None:
    """Samples for a while and prints the section."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        root = folder / "root"
        root.mkdir()
        (root / "1k.bin").write_bytes(bytes(1024))
        repository = open_database(sqlite_url(folder / "trimtab.db"))
        with servers.running("trimtab-httpd", folder / "server", root, "/1k.bin") as server:
            sampler = Sampler(repository, repository.register_host(describe_host()), Broadcaster())
            sampler.watch_server(tuple(process.pid for process in server.processes()), None)
            sampler.start()
            shares = []
            for _ in range(WINDOWS):
                before_s, begun_s = time.process_time(), time.monotonic()
                time.sleep(WINDOW_S)  # the window itself: there is nothing to wait for but time
                shares.append((time.process_time() - before_s) / (time.monotonic() - begun_s))
            sampler.stop()
        repository.close()
    print("## Cost of sampling\n")
    shown = ", ".join(f"{share * 100:.2f} %" for share in shares)
    print(
        f"All counters of the host ({psutil.cpu_count()} CPUs) and of a running server once a second, "
        f"published and recorded: {shown} of one core in {WINDOWS} windows of {WINDOW_S} s."
    )


if __name__ == "__main__":
    main()
