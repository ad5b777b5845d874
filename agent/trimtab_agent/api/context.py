"""What the routes work with; `create_app` puts it on the application, routes ask for it with `ContextDep`."""

import asyncio
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request
from trimtab_db import Repository

from trimtab_agent.affinity.service import AffinityService
from trimtab_agent.api.access import Access
from trimtab_agent.api.uploads import Uploads
from trimtab_agent.broadcast import Broadcaster
from trimtab_agent.host.cpu_layout import CpuLayout
from trimtab_agent.live.service import LiveService
from trimtab_agent.recording.recorder import Recorder
from trimtab_agent.recording.sampler import Sampler
from trimtab_agent.results.analysis import Analyses
from trimtab_agent.settings import AgentSettings
from trimtab_agent.study.runs import RunService


@dataclass(frozen=True, kw_only=True)
class Context:
    """`host_id` is the record of the machine the daemon runs on; `closing` is set when it is about to end.

    `live_servers` are those that the API may attach to, `base_files` the files of the host that a run started
    in the browser may begin with, `sites` the directories whose files it may have served, `uploads` the files
    that were sent through it.
    """

    settings: AgentSettings
    service: RunService
    live: LiveService
    live_servers: tuple[str, ...]
    base_files: tuple[str, ...]
    sites: tuple[str, ...]
    uploads: Uploads
    affinity: AffinityService
    repository: Repository
    broadcaster: Broadcaster
    sampler: Sampler
    recorder: Recorder
    host_id: int
    layout: CpuLayout
    access: Access
    analyses: Analyses
    closing: asyncio.Event = field(default_factory=asyncio.Event)


def _context(request: Request) -> Context:
    context: Context = request.app.state.context
    return context


ContextDep = Annotated[Context, Depends(_context)]
