"""What a session of live tuning goes by: how far it may go, and what it may use."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab_db.records import LiveMode
from trimtab_tuner.live.episode import Rules
from trimtab_tuner.live.guards import Rails
from trimtab_tuner.live.proposals import Seed

from trimtab_agent.live.attachment import Attachment


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a session goes by; `machine_lock` keeps tuning runs off this machine while an episode goes on
    or a promotion is watched, and `require_way` raises SpecError where nothing can be tried in this mode.

    With `by_reload` nothing is started beside production: it has each candidate by turns, and reloads for it.
    """

    mode: LiveMode
    rules: Rules
    rails: Rails
    slow_s: float
    seeds: tuple[Seed, ...]
    notes: Path
    machine_lock: Callable[[], AbstractContextManager[Any]]
    require_way: Callable[[Attachment], None]
    by_reload: bool = False
    seed: int = 1
