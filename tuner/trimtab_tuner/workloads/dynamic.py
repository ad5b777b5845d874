"""Dynamic requests: a share of a workload's requests goes to a program behind the server, and not to a file.

`by` names the program (`targets/backends/`): a page of PHP, as in the study of Lighttpd that the `support`
workload comes from, or one of Python. It makes a text of the size asked for, hashing as it goes; so a page
costs time in proportion to its size, and says its length, because the load generator checks it.
"""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from trimtab_tuner.frozen import Frozen
from trimtab_tuner.targets.backends import BACKENDS
from trimtab_tuner.workloads.file_sets import Integers


class Dynamic(Frozen):
    """The `[dynamic]` table of a definition: so many of the requests, each answered by `size_bytes`."""

    share: Annotated[float, Field(gt=0, le=1)]
    by: Literal["php", "gunicorn", "uvicorn"] = "php"
    size_bytes: Annotated[int, Field(ge=1, le=1 << 20)] = 8192

    def pages(self) -> list[tuple[str, int]]:
        """What such requests ask for, and how long the replies are."""
        return [(f"{BACKENDS[self.by].path}?size={self.size_bytes}", self.size_bytes)]

    def draw(self, count: int, _streams: tuple[np.random.Generator, np.random.Generator]) -> Integers:
        """Which of the pages are asked for: there is only one."""
        return np.zeros(count, dtype=np.int64)

    def scripts(self) -> dict[str, str]:
        """Text of the program, by URL path."""
        backend = BACKENDS[self.by]
        return {backend.script_path: backend.script}
