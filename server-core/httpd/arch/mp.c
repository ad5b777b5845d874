/*
 * MP, multi-process: a pool of processes made beforehand, each of which serves one connection at a time to
 * its end and has a cache of its own. The operating system alone decides who runs; a process that waits for a
 * disk or a slow client keeps nobody else waiting.
 *
 * Process i takes connections while i is less than max_connections, so at most `workers` are open.
 */
#include "httpd/arch/architectures.h"
#include "httpd/arch/blocking_loop.h"

#include <stdio.h>

static const enum knob_id UNDERSTOOD[] = {
    KNOB_SENDFILE,          KNOB_MAX_CONNECTIONS, KNOB_WORKERS,   KNOB_AFFINITY, KNOB_CACHE_ENTRIES,
    KNOB_KEEPALIVE_TIMEOUT, KNOB_REQUEST_TIMEOUT, KNOB_REUSEPORT, KNOB_COUNT,
};

static void lay_out(const struct config *config, struct layout *layout)
{
    const int64_t connections = config_integer(config, KNOB_MAX_CONNECTIONS);

    if (connections < layout->serving)
        layout->serving = (unsigned)connections;
}

/* With listeners of its own a process that may take no connection would leave those that come to them
 * waiting. */
static bool check(const struct config *config)
{
    char sentence[128];

    if (config_integer(config, KNOB_REUSEPORT) == SWITCH_OFF ||
        config_integer(config, KNOB_MAX_CONNECTIONS) >= config_integer(config, KNOB_WORKERS))
        return true;
    snprintf(
        sentence, sizeof(sentence),
        "expected at least one for each of the %u workers, as with reuseport each has listeners of its own",
        (unsigned)config_integer(config, KNOB_WORKERS));
    return config_refuse(config, KNOB_MAX_CONNECTIONS, sentence);
}

static int run(struct worker *worker)
{
    return blocking_loop_run(worker, NULL);
}

const struct architecture architecture_mp = {
    .name = "mp",
    .help = "a process for each connection, made beforehand",
    .knobs = UNDERSTOOD,
    .can_be_copied = true,
    .workers_default = 32, /* as many as Flash's MP had for each main process in the seeds' report 004 */
    .check = check,
    .lay_out = lay_out,
    .driver = &driver_blocking_loop,
    .run = run,
};
