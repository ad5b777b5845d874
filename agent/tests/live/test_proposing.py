"""What a session asks before it tries anything."""

import os

import psutil
import pytest
from trimtab_agent.live import proposing


def test_memory_of_a_process_that_may_not_be_looked_into_is_all_that_is_resident(monkeypatch):
    """Another user's in a container without SYS_PTRACE: what it shares with others counts as well."""
    monkeypatch.setattr(psutil.Process, "children", lambda *_, **__: [])
    share = proposing._pss_bytes(os.getpid())

    def denied(_):
        raise psutil.AccessDenied

    monkeypatch.setattr(psutil.Process, "memory_full_info", denied)
    assert proposing._pss_bytes(os.getpid()) == pytest.approx(psutil.Process().memory_info().rss, rel=0.2)
    assert share > 0
