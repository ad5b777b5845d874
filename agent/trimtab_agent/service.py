"""The one thing through which the API and the command line start, watch and stop runs.

A run executes in a thread of its own, in whichever process started it; the lock in `run/lock.py` keeps it the
only one on the host.  What has happened is in the database; what happens right now comes through the
broadcaster and `progress()`.

Signatures first: the API is written against these.

    service = TuningService(settings, database, broadcaster)
    service.start(spec: RunSpec) -> int              run id; raises SpecError, RunConflict, HostError …
    service.resume(run_id: int) -> int               raises RunNotFound, RunNotResumable, RunConflict
    service.stop(run_id: int) -> None                asks, returns at once; raises RunNotFound, RunNotRunning
    service.wait(timeout_s: float | None) -> bool    True once no run is under way in this process
    service.progress() -> dict[str, Any] | None      the last `progress` event's data; None when idle
    service.estimate(spec: RunSpec) -> dict[str, Any]
                                                     {"trials", "duration_s",
                                                      "breakdown": [{"phase", "duration_s"}]}
    service.mark_interrupted() -> list[int]          runs whose process died; called at start
    service.close() -> None                          stops the run that is under way, and waits for it

Data of the events on the broadcaster (`data` of broadcast.Event):
    progress     {"run_id", "state", "phase", "trial", "trials_expected", "configuration", "rate_rps",
                  "rate_index", "rates", "best": {"configuration", "score"} | None, "elapsed_s", "eta_s",
                  "fraction", "load": trimtab-load's last progress line | None}
    measurement  {"run_id", "trial", "purpose", "configuration", "rate_rps", "goodput_mbps",
                  "reply_rate_rps", "timed_out", "generator_limited"}
    trial        the recorded trial, as `GET runs/{id}/trials` has it, without its measurements
    run          {"run_id", "state", "phase"}
    sample       one second of counters: {"time", "missing": [source…], source: {…}…}
    log          {"run_id", "level", "message"}
"""
