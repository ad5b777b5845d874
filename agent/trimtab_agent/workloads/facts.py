"""What a workload comes to: its files, the requests of its log, the sizes asked for."""

from collections import Counter
from dataclasses import dataclass

from trimtab_tuner.workloads import Workload
from trimtab_tuner.workloads.session_log import Session

PERCENTAGES = (10, 30, 50, 60, 80, 90, 95, 100)


@dataclass(frozen=True, kw_only=True)
class WorkloadFacts:
    """Figures of one workload, from its file set and its own log.

    `largest_bytes` has the largest file among that percentage of the requests, smallest files first.
    """

    files: int
    file_set_bytes: int
    sessions: int
    requests: int
    mean_session_length: float
    mean_session_pause_s: float
    mean_request_bytes: float
    files_asked_for: int
    dynamic_share: float
    largest_bytes: dict[int, int]


def workload_facts(workload: Workload) -> WorkloadFacts:
    """The figures of a workload; makes its log, which takes a fraction of a second."""
    sessions = workload.sessions()
    files = dict(workload.files())
    asked = Counter(request.path for session in sessions for request in session)
    sizes = sorted(request.size_bytes for session in sessions for request in session)
    return WorkloadFacts(
        files=len(files),
        file_set_bytes=workload.total_bytes(),
        sessions=len(sessions),
        requests=len(sizes),
        mean_session_length=len(sizes) / len(sessions),
        mean_session_pause_s=_pauses_s(sessions) / len(sessions),
        mean_request_bytes=sum(sizes) / len(sizes),
        files_asked_for=sum(path in files for path in asked),
        dynamic_share=sum(count for path, count in asked.items() if path not in files) / len(sizes),
        largest_bytes={share: sizes[-(-len(sizes) * share // 100) - 1] for share in PERCENTAGES},
    )


def _pauses_s(sessions: list[Session]) -> float:
    return sum(request.think_s for session in sessions for request in session)
