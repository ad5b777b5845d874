"""Fills an empty database with a run of 10,000 trials and hours of samples, to see the web UI under them.

    python webui/bench/large_run.py VAR [--trials N] [--hours H]

makes VAR/trimtab.db; `trimtab up --var VAR` shows it. The numbers are made up and only their amount matters.
"""

import argparse
import math
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

from trimtab_agent.counters.host import host_counters
from trimtab_agent.host.identity import describe_host
from trimtab_db import Repository, open_database, records, sqlite_url
from trimtab_trials.measurement import Latency, Measurement, RequestCounts, SessionCounts
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.targets import TARGETS

LADDER = (1000.0, 2000.0, 4000.0, 8000.0)
NOW = datetime.now(UTC)


def make_run(repository: Repository, host_id: int, trials: int) -> records.Run:
    """A run over four knobs that was stopped after its last trial."""
    space = TARGETS["core"].space().model_dump(mode="json")
    run = repository.create_run(
        records.NewRun(
            host_id=host_id,
            target_id=repository.register_target("core", "0.1.0"),
            workload_id=repository.register_workload("specweb99", {}, files=36, total_bytes=5_000_000),
            preset="thorough",
            strategy="random",
            objective="condensed-area",
            space=space,
            settings={},
            seed=1,
            budget_trials=trials,
            layout={"server": [0], "generator": [1], "sentence": ""},
        )
    )
    repository.set_run_ladder(run.id, LADDER)
    return run


def make_trial(run: records.Run, number: int, dice: random.Random) -> Trial:
    """A search trial somewhere in the space; one in twenty was not verified."""
    configuration = {
        **TARGETS["core"].space().default(),
        "workers": round(2 ** dice.uniform(0, 5)),
        "max_connections": round(2 ** dice.uniform(6, 14)),
        "sendfile": dice.choice(["nonblocking", "blocking"]),
    }
    worth = 1 - 0.08 * (math.log2(float(configuration["workers"])) - 3) ** 2 / 9
    goodput = [rate / 8 * worth * dice.uniform(0.95, 1.05) for rate in LADDER]
    failed = dice.random() < 0.05
    started_at = NOW - timedelta(hours=30) + timedelta(seconds=10 * number)
    latency = Latency(300.0, 800.0, 2100.0, 9800.0, 12000.0, 420.0)
    return Trial(
        run_id=run.id,
        host_id=run.host_id,
        number=number,
        purpose=TrialPurpose.SEARCH,
        configuration=configuration,
        verdict=Verdict.FAILED_VERIFICATION if failed else Verdict.VERIFIED,
        reason="At 8000 requests/s, 3.1 % of the requests timed out." if failed else "All rules hold.",
        score=None if failed else sum(goodput) / len(goodput),
        server_config="[server]\n",
        started_at=started_at,
        finished_at=started_at + timedelta(seconds=9),
        measurements=tuple(
            Measurement(
                number=index,
                rate_rps=rate,
                duration_s=2.0,
                warmup_s=0.5,
                elapsed_s=2.4,
                goodput_mbps=mbps,
                reply_rate_rps=rate,
                bytes_received=20_000_000,
                sessions=SessionCounts(274, 274, 274, 0, 0, 0, 0),
                requests=RequestCounts(2000, 1990, 4, 6, 0, 0, 0),
                connect_latency=latency,
                first_byte_latency=latency,
                reply_latency=latency,
                failures={},
                health={"verdict": "ok", "reasons": []},
                server_stats={},
                counters={},
                generator_limited=False,
                size_classes=(),
            )
            for index, (rate, mbps) in enumerate(zip(LADDER, goodput, strict=True), start=1)
        ),
    )


def add_samples(repository: Repository, host_id: int, hours: float) -> None:
    """A day of samples: the same real one again and again."""
    counters = host_counters()
    values = counters.between(counters.take(), counters.take())
    seconds = int(hours * 3600)
    for first in range(0, seconds, 3600):
        repository.add_counter_samples(
            records.CounterSample(
                host_id=host_id,
                taken_at=NOW - timedelta(seconds=seconds - second),
                values={**values, "time": NOW.timestamp() - (seconds - second), "interval_s": 1.0},
            )
            for second in range(first, min(first + 3600, seconds))
        )


def main() -> None:
    """Reads the command line and fills the database."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("var", type=Path)
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--hours", type=float, default=24.0)
    options = parser.parse_args()
    options.var.mkdir(parents=True, exist_ok=True)
    repository = open_database(sqlite_url(options.var / "trimtab.db"))
    run = make_run(repository, repository.register_host(describe_host(options.var)), options.trials)
    dice = random.Random(1)
    for number in range(1, options.trials + 1):
        repository.record_trial(make_trial(run, number, dice))
    repository.set_run_state(run.id, records.RunState.STOPPED)
    add_samples(repository, run.host_id, options.hours)
    repository.close()
    print(f"run {run.id} with {options.trials} trials in {options.var}")


if __name__ == "__main__":
    main()
