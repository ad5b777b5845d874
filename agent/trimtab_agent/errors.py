"""Everything that can go wrong on purpose, each with one sentence for the user.

TrimtabError                     exit code 1
├── SpecError                    exit code 2   what was asked for does not make sense (HTTP 422)
├── RunConflict                  exit code 3   another run is running on this machine (HTTP 409)
├── RunNotRunning                exit code 3   a run cannot be stopped, because it is not running (HTTP 409)
├── RunNotResumable              exit code 3   a run cannot be resumed, because it is finished (HTTP 409)
├── RunGoingOn                   exit code 3   a run cannot be deleted, because it is running (HTTP 409)
├── RunChanged                   exit code 3   a run would go on under other conditions (HTTP 409)
├── LiveConflict                 exit code 3   live tuning is attached to that server already (HTTP 409)
├── LiveRequestRefused           exit code 3   a live session is in no state for what is asked (HTTP 409)
├── BinaryMissing                exit code 1   a program that must be built or installed is not there
├── FileSetError                 exit code 1   the workload's files cannot be written, or are gone
├── HostError                    exit code 1   the machine refuses: disk full, database read-only, port in use
├── GeneratorsLost               exit code 1   load generators on other machines are gone, late or unwell
├── FleetError                   exit code 1   the fleet cannot do it: no scheduler, another protocol, no host
└── StationLost                  exit code 1   a station of the fleet is gone, or its machine refuses
"""


class TrimtabError(Exception):
    """A failure with a sentence for the user; `exit_code` is what the command line ends with."""

    exit_code = 1
    code = "error"

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class SpecError(TrimtabError):
    """A run specification was refused; `field` is the dotted name of the offending part (`knobs.workers`)."""

    exit_code = 2
    code = "bad-specification"

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


class RunConflict(TrimtabError):
    """Another run is under way on this machine; `run_id` is its number, None while it has none yet.

    `holder_var` is the directory of whoever runs it, which need not be ours.
    """

    exit_code = 3
    code = "run-conflict"

    def __init__(
        self, run_id: int | None, holder_pid: int | None = None, holder_var: str | None = None
    ) -> None:
        name = f"run {run_id}" if run_id is not None else "another run"
        told = [f"process {holder_pid}"] if holder_pid is not None else []
        told += [f"its directory is {holder_var}"] if holder_var is not None else []
        holder = f" ({', '.join(told)})" if told else ""
        super().__init__(f"{name} is running on this machine{holder}; stop it or wait until it has ended")
        self.run_id = run_id
        self.holder_var = holder_var


class RunNotRunning(TrimtabError):
    """A run was to be stopped or paused which this process is not running, or to be paused as it stops."""

    exit_code = 3
    code = "run-not-running"

    def __init__(self, run_id: int, *, stopping: bool = False) -> None:
        super().__init__(
            f"run {run_id} is about to stop, so it cannot be paused"
            if stopping
            else f"run {run_id} is not running here, so there is nothing to stop or to pause"
        )
        self.run_id = run_id


class RunNotResumable(TrimtabError):
    """A run was to be resumed which has reached its end."""

    exit_code = 3
    code = "run-not-resumable"

    def __init__(self, run_id: int, state: str) -> None:
        super().__init__(
            f"run {run_id} is {state}; only stopped, failed and interrupted runs can be resumed",
        )
        self.run_id = run_id


class RunGoingOn(TrimtabError):
    """A run was to be deleted which is going on, or of which a trial is measured again."""

    exit_code = 3
    code = "run-going-on"

    def __init__(self, run_id: int) -> None:
        super().__init__(f"run {run_id} is being measured; stop it before you delete it")
        self.run_id = run_id


class RunChanged(TrimtabError):
    """A run was to be resumed under other conditions than it began under; `changes` names both of each."""

    exit_code = 3
    code = "run-changed"

    def __init__(self, run_id: int, changes: str) -> None:
        super().__init__(
            f"run {run_id} cannot be resumed as it began: {changes}. Its trials would not compare; expected "
            "the host, kernel, CPUs and server that it began with, or --even-if-changed (in the browser: "
            "Resume anyway)"
        )
        self.run_id = run_id


class TrialNotRepeatable(TrimtabError):
    """A calibration was to be repeated, which has no rates of the ladder."""

    exit_code = 3
    code = "trial-not-repeatable"

    def __init__(self, number: int, *, over_hosts: bool = False) -> None:
        super().__init__(
            f"trial {number} was measured on a host of the fleet; only trials of this machine can be repeated"
            if over_hosts
            else f"trial {number} is a calibration; only those of other purposes can be repeated"
        )


class LiveConflict(TrimtabError):
    """Live tuning is attached to a server already, by the session of that number and its process."""

    exit_code = 3
    code = "live-conflict"

    def __init__(self, session_id: int, process: int) -> None:
        super().__init__(
            f"live session {session_id} (process {process}) is attached to that server; "
            f"`trimtab live detach {session_id}` ends it"
        )


class LiveRequestRefused(TrimtabError):
    """A live session was asked for something that makes no sense in its state."""

    exit_code = 3
    code = "live-request-refused"

    def __init__(self, session_id: int, request: str, state: str) -> None:
        super().__init__(f"live session {session_id} cannot be asked to {request}: its state is {state}")


class BinaryMissing(TrimtabError):
    """A program is not there; the sentence says which command makes it."""

    code = "binary-missing"


class FileSetError(TrimtabError):
    """The workload's files cannot be written, or some are gone."""

    code = "file-set"


class HostError(TrimtabError):
    """The machine refuses something a run needs."""

    code = "host"


class GeneratorsLost(TrimtabError):
    """The generators of other machines that were to load the server could not, in spite of several tries."""

    code = "generators-lost"


class FleetError(TrimtabError):
    """The fleet cannot do what was asked for: nobody answers, another protocol is spoken, a host is gone."""

    code = "fleet"


class StationLost(TrimtabError):
    """A station of the fleet cannot carry out what it was given: it is gone, or its machine refuses."""

    code = "station-lost"

    def __init__(self, station: str, why: str) -> None:
        super().__init__(f"the station {station} cannot go on: {why}")
        self.station = station
