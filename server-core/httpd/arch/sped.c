/*
 * SPED, single-process event-driven: one process multiplexes all connections in one event loop, and holds the
 * descriptor table and the cache alone.
 */
#include "httpd/arch/architectures.h"
#include "httpd/arch/event_loop.h"

static const enum knob_id UNDERSTOOD[] = {
    KNOB_EVENTS,        KNOB_SENDFILE,          KNOB_MAX_CONNECTIONS, KNOB_ACCEPT_LIMIT, KNOB_AFFINITY,
    KNOB_CACHE_ENTRIES, KNOB_KEEPALIVE_TIMEOUT, KNOB_REQUEST_TIMEOUT, KNOB_COUNT,
};

const struct architecture architecture_sped = {
    .name = "sped",
    .help = "one process, one event loop",
    .knobs = UNDERSTOOD,
    .can_be_copied = true,
    .balances_accepting = true,
    .run = event_loop_run,
};
