"""The trial process's own end: takes requests from its standard input, carries them out, answers.

See trial_process.py. What it is asked for is checked as any job that comes from elsewhere.
"""

import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any

from pydantic import TypeAdapter
from trimtab_trials.measurement import Measurement
from trimtab_tuner.judging.job import Placement, TrialJob
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.workloads.parameters import WorkloadParameters

from trimtab_agent.errors import TrimtabError
from trimtab_agent.fleet.credentials import security_of
from trimtab_agent.fleet.work import AtGenerator
from trimtab_agent.host.cpu_layout import CpuLayout
from trimtab_agent.kernel.reading import Kernel
from trimtab_agent.settings import AgentSettings
from trimtab_agent.station.equipment import JobListener
from trimtab_agent.station.load_source import OWN_LOAD, LoadSource
from trimtab_agent.station.requirements import completed, refuse_site, require
from trimtab_agent.station.station import Station
from trimtab_agent.stopping import Stopped

MEASUREMENT = TypeAdapter(Measurement)


class TrialLines:
    """Requests for one station, until there are no more or it is stopped.

    `kernel` reads the machine's kernel, `settled` says whether every setting is as it was; `credentials` is
    what connects it with generators, under the name `name`.
    """

    def __init__(
        self,
        station: Station,
        settings: AgentSettings,
        layout: CpuLayout,
        *,
        kernel: Callable[[], Kernel],
        settled: Callable[[], bool],
        credentials: Path,
        name: str,
    ) -> None:
        self._station = station
        self._settings = settings
        self._layout = layout
        self._kernel = kernel
        self._settled = settled
        self._credentials = credentials
        self._name = name
        self._requests: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        # Whatever a library prints must not come between the lines.
        self._out = os.fdopen(os.dup(1), "w", buffering=1)
        os.dup2(2, 1)

    def stop(self) -> None:
        """Aborts what goes on, and ends."""
        self._station.stop()
        self._requests.put(None)

    def work(self, requests: IO[str] = sys.stdin) -> None:
        """Answers until the end of the requests."""
        threading.Thread(target=self._read, args=(requests,), name="requests", daemon=True).start()
        self._say({"is": "ready", "host": vars(self._station.host)})
        while (request := self._requests.get()) is not None:
            try:
                answer = self._answer(request)
            except TrimtabError as error:
                answer = {"is": "failed", "code": error.code, "sentence": error.sentence}
            except Stopped:
                answer = {"is": "failed", "code": "stopped", "sentence": "it was stopped"}
            except Exception as error:
                answer = {"is": "failed", "code": "internal", "sentence": f"{type(error).__name__}: {error}"}
                self._say({**answer, "settled": self._settled()})
                raise
            self._say({**answer, "settled": self._settled()})

    def _read(self, requests: IO[str]) -> None:
        for line in requests:
            self._requests.put(json.loads(line))
        self.stop()

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["do"] == "prepare":
            workload = WorkloadParameters.model_validate(request["workload"])
            refuse_site(workload)
            self._station.prepare(workload, lambda done, total: self._tell(prepared=done, of=total))
            return {"is": "prepared"}
        job = TrialJob.model_validate(request["job"])
        generators = tuple(AtGenerator.model_validate(each) for each in request["generators"])
        server_cpus = self._layout.server
        if generators:
            # The load comes from elsewhere: the server has all CPUs, as it will have in production.
            server_cpus = tuple(sorted({*self._layout.server, *self._layout.generator}))
            job = job.model_copy(update={"placement": Placement(server=server_cpus, generator=server_cpus)})
        job = completed(job, len(server_cpus), self._kernel)
        require(self._settings, TARGETS[job.target], job.workload.definition)
        with ExitStack() as engaged:
            load: LoadSource = OWN_LOAD
            if generators:
                # The engine takes a second to load, which trials with a load of their own need not pay.
                from trimtab_agent.fleet.shared_load import SharedLoad

                load = engaged.enter_context(
                    SharedLoad(generators, security_of(self._credentials), self._name)
                )
            report = self._station.carry_out(job, self._listener(), request["name"], load)
        return {"is": "report", "report": report.model_dump(mode="json")}

    def _listener(self) -> JobListener:
        def measured(measurement: Measurement) -> None:
            self._tell(measured=MEASUREMENT.dump_python(measurement, mode="json"))

        return JobListener(
            rate_started=lambda rate_rps: self._tell(rate_rps=rate_rps),
            load_progress=lambda rate_rps, line: self._tell(rate_rps=rate_rps, line=line),
            measured=measured,
        )

    def _tell(self, **event: object) -> None:
        self._say({"is": "event", "event": event})

    def _say(self, line: dict[str, Any]) -> None:
        self._out.write(json.dumps(line) + "\n")
        self._out.flush()
