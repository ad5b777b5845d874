/*
 * shared-SYMPED: symmetric processes as in symped, which share one descriptor table and one cache. A file
 * that any of them has opened is open for all. The cache is in shared memory under `cache_lock`, and the lock
 * is never held while a file is opened.
 *
 * With `copies` it is partitioned: the processes of a part have listeners of their own and, with `affinity`,
 * a CPU; the cache is still one.
 *
 * DESCRIPTORS. The master starts the processes by clone(2) with CLONE_FILES, so their descriptor table is the
 * master's. A process that dies leaves its descriptors open; the master closes them (connection_pool.h) and
 * makes the event set beforehand, to have that too. Nothing here is a table by descriptor number, which would
 * have to be as long as all processes' connections and files together in each of them.
 */
#include "httpd/arch/shared_symped.h"

#include "httpd/arch/architectures.h"
#include "httpd/arch/copies.h"
#include "httpd/arch/event_loop.h"
#include "httpd/connection/connection_pool.h"
#include "httpd/log.h"
#include "httpd/process/master.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define DESCRIPTORS_PER_PROCESS 3 /* event set, wake-up, a file being opened */

static const enum knob_id UNDERSTOOD[] = {
    KNOB_EVENTS,   KNOB_SENDFILE,      KNOB_MAX_CONNECTIONS,   KNOB_ACCEPT_LIMIT,
    KNOB_AFFINITY, KNOB_CACHE_ENTRIES, KNOB_KEEPALIVE_TIMEOUT, KNOB_REQUEST_TIMEOUT,
    KNOB_WORKERS,  KNOB_REUSEPORT,     KNOB_CACHE_LOCK,        KNOB_COPIES,
    KNOB_COUNT,
};

/* What all processes share. */
struct common {
    struct connection_pool *pool;
    unsigned caches;
    struct file_table *tables[];
};

/* Of this process. */
static struct connection_pool *pool;
static unsigned owner; /* its number there */

bool shared_symped_prepare(struct master *master, unsigned caches)
{
    const struct config *config = master->config;
    struct common *common = calloc(1, sizeof(*common) + caches * sizeof(*common->tables));
    struct rlimit limit;
    bool ok = common && getrlimit(RLIMIT_NOFILE, &limit) == 0;

    if (ok) {
        common->pool = connection_pool_create((size_t)limit.rlim_cur, master->layout.processes);
        common->caches = caches;
        ok = common->pool != NULL;
    }
    for (unsigned i = 0; ok && i < caches; i++) {
        common->tables[i] = file_table_create_shared(
            config->root, (size_t)config_integer(config, KNOB_CACHE_ENTRIES) / caches + 1,
            config_cache_bytes(config) / caches, (enum cache_lock)config_integer(config, KNOB_CACHE_LOCK),
            (master->layout.processes + caches - 1) / caches);
        ok = common->tables[i] != NULL;
    }
    if (!ok)
        log_errno("cannot make the shared cache of the root %s", config_text(config, KNOB_ROOT));
    master->common = common;
    return ok;
}

void shared_symped_bury(struct master *master, unsigned process)
{
    const struct common *common = master->common;

    file_table_recover(common->tables[process % common->caches], process / common->caches);
    connection_pool_bury(common->pool, process);
}

void shared_symped_join(struct worker *worker)
{
    const struct common *common = worker->common;

    worker->table = common->tables[worker->process % common->caches];
    pool = common->pool;
    owner = worker->process;
}

static struct connection *allocate(struct worker *worker)
{
    (void)worker;
    return connection_pool_take(pool, owner);
}

/* Its connections are kept where the master can see them. */
static const struct driver driver = {
    .connection_bytes = sizeof(struct connection),
    .fresh_bytes = sizeof(struct connection),
    .allocate = allocate,
};

static int run(struct worker *worker)
{
    if (!worker->table) /* has joined already if this is a copy */
        shared_symped_join(worker);
    connection_pool_for_each(pool, owner, connection_add_chunk, worker); /* of who was here before */
    return event_loop_run(worker);
}

static bool check(const struct config *config)
{
    const char *events = event_mechanism_at((size_t)config_integer(config, KNOB_EVENTS))->name;
    bool ok = copies_check(config);

    if (strncmp(events, "epoll", strlen("epoll")) != 0)
        ok = config_refuse(config, KNOB_EVENTS,
                           "expected epoll or epoll-et: the tables of others are as long as the "
                           "largest descriptor, and here all processes share the descriptors");
    return ok;
}

static void lay_out(const struct config *config, struct layout *layout)
{
    const unsigned processes = (unsigned)config_integer(config, KNOB_WORKERS);

    layout->processes = layout->rows = layout->serving = processes;
    layout->descriptor_tables = 1;
    layout->shared_descriptors = DESCRIPTORS_PER_PROCESS * processes;
    layout->parts = copies_count(config);
    layout->listener_sets = config_integer(config, KNOB_REUSEPORT) == SWITCH_ON ? layout->parts : 1;
}

static bool prepare(struct master *master)
{
    return shared_symped_prepare(master, 1);
}

const struct architecture architecture_shared_symped = {
    .name = "shared-symped",
    .help = "symmetric processes with event loops of their own that share descriptors and cache",
    .knobs = UNDERSTOOD,
    .can_be_copied = true,
    .balances_accepting = true,
    .check = check,
    .lay_out = lay_out,
    .describe_row = copies_describe_row,
    .prepare = prepare,
    .choose_listeners = copies_choose_listeners,
    .bury = shared_symped_bury,
    .driver = &driver,
    .run = run,
};
