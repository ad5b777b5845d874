"""Diagnosis: named rules from recorded counters to sentences about what limits the server.

A rule is a function from `RunEvidence` to a `Finding` or None. To add one, write it in the file of its
subject and add it to `RULES`; each has a test that fires it and one that does not.
"""

from collections.abc import Callable

from trimtab_tuner.diagnosis import connections, cpu, database, load, memory, tls, upstream
from trimtab_tuner.diagnosis.evidence import RunEvidence
from trimtab_tuner.diagnosis.finding import Finding

Rule = Callable[[RunEvidence], Finding | None]

# In the order in which findings are shown: what makes the measurement itself doubtful comes first.
RULES: tuple[Rule, ...] = (
    cpu.quota_is_used_up,
    load.generator_is_the_bottleneck,
    load.link_is_the_bottleneck,
    load.stolen_time,
    load.other_processes,
    connections.connection_limit,
    connections.connection_ceiling,
    connections.accept_queue_overflow,
    connections.large_file_starvation,
    connections.too_few_workers_for_blocking_sendfile,
    memory.disk_wait,
    memory.footprint_evicts_file_cache,
    memory.swapping,
    database.clients_refused,
    database.threads_lose_throughput,
    database.threads_made_anew,
    database.buffer_pool_misses,
    tls.handshakes_take_the_cpu,
    upstream.ports_run_out,
    upstream.upstream_makes_requests_wait,
    upstream.replies_go_to_disk,
    upstream.children_outgrow_memory,
    cpu.too_few_workers,
    cpu.interrupts_on_one_cpu,
    cpu.lock_contention,
    cpu.context_switch_overhead,
    cpu.process_migration,
)


# What a quota that is used up looks like to those who do not know of it: everything of the group stands
# still, the generator too, and goes on all at once.
EXPLAINED_BY_QUOTA: tuple[Rule, ...] = (
    load.generator_is_the_bottleneck,
    load.stolen_time,
    load.other_processes,
    connections.connection_limit,
    cpu.context_switch_overhead,
    cpu.process_migration,
)


def diagnose(run: RunEvidence) -> tuple[Finding, ...]:
    """What the rules find; nothing where the best trial has no measurements."""
    if not run.best.measurements:
        return ()
    silent = EXPLAINED_BY_QUOTA if cpu.quota_is_used_up(run) is not None else ()
    return tuple(found for rule in RULES if rule not in silent and (found := rule(run)) is not None)
