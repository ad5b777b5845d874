"""Where a server under test is to be, for files that nothing has to start."""

from pathlib import Path
from typing import Any

from trimtab_tuner.targets.base import RenderContext


def instance_in(directory: str | Path, **more: Any) -> RenderContext:
    """One address, CPUs to pin to, and a directory for what the server reads and writes."""
    return RenderContext(
        root=str(directory),
        listen=("127.0.0.1:18999",),
        status_listen="127.0.0.1:18998",
        server_cpus=(0, 1),
        prefix=str(directory),
        **more,
    )
