/*
 * SYMPED, symmetric multi-process event-driven: `workers` processes, each a complete SPED with its own event
 * set, cache and tables. They share the listening sockets and nothing else, so the kernel's accept queue
 * divides the load and no lock is needed. With blocking sendfile, or when a disk read blocks, the other
 * processes go on.
 */
#include "httpd/arch/architectures.h"
#include "httpd/arch/event_loop.h"

static const enum knob_id UNDERSTOOD[] = {
    KNOB_EVENTS,        KNOB_SENDFILE,          KNOB_MAX_CONNECTIONS, KNOB_ACCEPT_LIMIT, KNOB_AFFINITY,
    KNOB_CACHE_ENTRIES, KNOB_KEEPALIVE_TIMEOUT, KNOB_REQUEST_TIMEOUT, KNOB_WORKERS,      KNOB_REUSEPORT,
    KNOB_COUNT,
};

const struct architecture architecture_symped = {
    .name = "symped",
    .help = "symmetric processes, each with an event loop of its own",
    .knobs = UNDERSTOOD,
    .can_be_copied = true,
    .balances_accepting = true,
    .run = event_loop_run,
};
