"""HTTP/2: how the visitors of a workload ask.

A session is one connection, and its requests are streams of it: the first request of a burst goes alone, the
others at once, up to `streams` of them (docs/internals/load-protocols.md).
"""

from typing import Annotated

from pydantic import Field

from trimtab_tuner.frozen import Frozen


class Http2(Frozen):
    """The `[http2]` table of a definition."""

    streams: Annotated[int, Field(ge=1, le=1000)] = 100
