/*
 * N-copy: `copies` complete servers of the architecture `copy_of`, usually one for each CPU. Each copy has
 * `workers` workers, listeners, caches and tables of its own and shares max_connections with the others; with
 * `affinity` all its processes and threads are pinned to one CPU, so that nothing is handed from CPU to CPU.
 *
 * HOW. The master forks the processes of all copies; process i is process i / copies of copy i modulo copies,
 * and rows of counters are dealt out in the same way. Before such a process runs the copied architecture it
 * gets the configuration that the copy has: one CPU, its share of connections, its listeners. So an
 * architecture need not know that it is copied. Only shared-symped does, because what its processes share is
 * made before they are forked.
 */
#include "httpd/arch/architectures.h"
#include "httpd/arch/copies.h"
#include "httpd/arch/shared_symped.h"
#include "httpd/connection/worker.h"
#include "httpd/log.h"
#include "httpd/process/master.h"

#include <stdio.h>
#include <stdlib.h>

/* What belongs to the copying and not to the copy. All that any of the copied architectures understands
 * n-copy does too (KNOB_COPY_OF); check() refuses what the chosen one does not. */
static const enum knob_id UNDERSTOOD[] = {KNOB_COPIES, KNOB_COPY_OF, KNOB_REUSEPORT, KNOB_AFFINITY,
                                          KNOB_COUNT};

static int64_t copied_index(const struct config *config)
{
    int64_t index = 0;

    while (architecture_at((size_t)index) != architecture_that_serves(config))
        index++;
    return index;
}

static bool shares_descriptors(const struct config *config)
{
    return architecture_that_serves(config)->bury != NULL;
}

/* The configuration of a copy. It borrows what values own. */
static struct config config_of_copy(const struct config *config, unsigned copy)
{
    struct config own = *config;
    struct knob_value *affinity = &own.values[KNOB_AFFINITY];

    own.values[KNOB_ARCHITECTURE].integer = copied_index(config);
    own.values[KNOB_MAX_CONNECTIONS].integer =
        config_share(config_integer(config, KNOB_MAX_CONNECTIONS), copies_count(config), copy);
    own.values[KNOB_REUSEPORT].integer = SWITCH_OFF;
    own.values[KNOB_COPIES].integer = 1;
    if (affinity->count > 0) {
        affinity->cpus += copy % affinity->count;
        affinity->count = 1;
    }
    if (config_integer(config, KNOB_REUSEPORT) == SWITCH_OFF)
        own.values[KNOB_LISTEN].count =
            (size_t)config_share((int64_t)config->values[KNOB_LISTEN].count, copies_count(config), copy);
    return own;
}

static void lay_out(const struct config *config, struct layout *layout)
{
    const struct config first = config_of_copy(config, 0);
    const unsigned copies = copies_count(config);

    *layout = architecture_layout(&first);
    layout->processes *= copies;
    layout->rows *= copies;
    layout->serving *= copies;
    layout->shared_descriptors *= copies;
    if (!layout->shared_descriptors)
        layout->descriptor_tables *= copies;
    layout->parts = copies;
    layout->listener_sets = config_integer(config, KNOB_REUSEPORT) == SWITCH_ON ? copies : 1;
}

static struct row_description describe_row(const struct config *config, unsigned row)
{
    const unsigned copies = copies_count(config), copy = row % copies;
    const struct config own = config_of_copy(config, copy);
    struct row_description about = architecture_row(&own, row / copies);

    about.process = about.process * copies + copy;
    about.cpu_position = copy;
    return about;
}

static bool is_of_the_whole(enum knob_id id)
{
    for (const enum knob_id *each = UNDERSTOOD; *each != KNOB_COUNT; each++) {
        if (*each == id)
            return true;
    }
    return false;
}

static bool check(const struct config *config)
{
    const struct architecture *architecture = architecture_that_serves(config);
    bool ok = copies_check(config);
    struct config own;
    char sentence[128];

    for (enum knob_id id = 0; id < KNOB_COUNT; id++) {
        if (!config->values[id].given || is_of_the_whole(id) || architecture_understands(architecture, id) ||
            config_has_default(config, id))
            continue;
        snprintf(sentence, sizeof(sentence), "a copy of %s knows no such knob: expected %s",
                 architecture->name, KNOBS[id].default_text);
        ok = config_refuse(config, id, sentence);
    }
    if (!ok)
        return false;
    own = config_of_copy(config, 0);
    return !architecture->check || architecture->check(&own);
}

static bool prepare(struct master *master)
{
    return !shares_descriptors(master->config) || shared_symped_prepare(master, copies_count(master->config));
}

static void bury(struct master *master, unsigned process)
{
    if (shares_descriptors(master->config))
        shared_symped_bury(master, process);
}

/* Returns the wake-ups of the processes of the worker's copy, or NULL when there is no memory. */
static const int *wake_fds_of_copy(const struct worker *worker, unsigned processes)
{
    int *fds = calloc(processes, sizeof(*fds));

    for (unsigned i = 0; fds && i < processes; i++)
        fds[i] = worker->wake_fds[worker_shared_row(worker, i)];
    return fds;
}

static int run(struct worker *worker)
{
    static struct config own;
    static const int *wake_fds; /* to the end of the process */
    const unsigned copies = copies_count(worker->config), copy = worker->process % copies;

    if (shares_descriptors(worker->config))
        shared_symped_join(worker);
    own = config_of_copy(worker->config, copy);
    worker->architecture = architecture_that_serves(worker->config);
    if (worker->architecture->driver)
        worker->driver = worker->architecture->driver;
    worker->config = &own;
    worker->layout = architecture_layout(&own);
    worker->process /= copies;
    worker->copies = copies;
    worker->copy = copy;
    wake_fds = wake_fds_of_copy(worker, worker->layout.processes);
    if (!wake_fds) {
        log_errno("no memory for the list of processes");
        return EXIT_RUNTIME;
    }
    worker->wake_fds = wake_fds;
    worker_take_row(worker, worker->process);
    return worker->architecture->run(worker);
}

const struct architecture architecture_n_copy = {
    .name = "n-copy",
    .help = "complete copies of another architecture, usually one for each CPU",
    .knobs = UNDERSTOOD,
    .check = check,
    .lay_out = lay_out,
    .describe_row = describe_row,
    .prepare = prepare,
    .choose_listeners = copies_choose_listeners,
    .bury = bury,
    .run = run,
};
