/*
 * AMPED, asymmetric multi-process event-driven, and Co-AMPED, several of them that work together.
 *
 * AMPED is a SPED with `helpers` helper processes. Before the event loop does anything that could wait for a
 * disk it finds out whether it would: whether the file is in its cache, or else its name in the kernel's
 * (openat2 with RESOLVE_CACHED), and whether the pages that are to be sent next are in memory
 * (cache/residency.h). If not, a helper fetches them while the loop serves others.
 *
 * Co-AMPED is `workers` AMPEDs. A table in shared memory says which of them has served a URL last. Who reads
 * a request for a URL of another hands the connection over, with all that has been read (handover.h), and
 * forgets it; the other one serves it, for it is likely to have the file. Nothing is handed over twice. With
 * `forward_bias` a connection stays where it is when the owner has that many connections more.
 *
 * Processes: event loops 0…workers-1, then the helpers of event loop 0, of event loop 1, and so on.
 */
#include "httpd/arch/architectures.h"
#include "httpd/arch/event_loop.h"
#include "httpd/arch/handover.h"
#include "httpd/arch/helpers.h"
#include "httpd/cache/hash.h"
#include "httpd/connection/answer.h"
#include "httpd/connection/sending.h"
#include "httpd/connection/serving.h"
#include "httpd/connection/worker.h"
#include "httpd/http/request.h"
#include "httpd/log.h"
#include "httpd/process/master.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define OWNER_SLOTS 65536 /* URLs are told apart by so many values of their hash */

static const enum knob_id AMPED_UNDERSTOOD[] = {
    KNOB_EVENTS,        KNOB_SENDFILE,          KNOB_MAX_CONNECTIONS, KNOB_ACCEPT_LIMIT, KNOB_AFFINITY,
    KNOB_CACHE_ENTRIES, KNOB_KEEPALIVE_TIMEOUT, KNOB_REQUEST_TIMEOUT, KNOB_HELPERS,      KNOB_COUNT,
};

static const enum knob_id CO_AMPED_UNDERSTOOD[] = {
    KNOB_EVENTS,        KNOB_SENDFILE,          KNOB_MAX_CONNECTIONS, KNOB_ACCEPT_LIMIT, KNOB_AFFINITY,
    KNOB_CACHE_ENTRIES, KNOB_KEEPALIVE_TIMEOUT, KNOB_REQUEST_TIMEOUT, KNOB_HELPERS,      KNOB_WORKERS,
    KNOB_REUSEPORT,     KNOB_FORWARD_BIAS,      KNOB_COUNT,
};

/* What an event loop has with its helpers and the other event loops. */
struct loop_channels {
    struct helper_channels helpers;
    struct handover handover;
};

struct common {
    _Atomic uint16_t *owners; /* event loop + 1 that served such a URL last; 0: none */
    struct loop_channels loops[];
};

struct amped_connection {
    struct helped_connection helped;
    uint8_t asked;  /* names that the request needs (file_cache_would_wait()) */
    bool forwarded; /* it was handed over by another process, and has not been served since */
};

/* Of this process, whose one event loop these functions are called by. */
static struct helpers *helpers;

static unsigned loop_count(const struct config *config)
{
    return (unsigned)config_integer(config, KNOB_WORKERS);
}

static unsigned helper_count(const struct config *config)
{
    return (unsigned)config_integer(config, KNOB_HELPERS);
}

static bool check(const struct config *config)
{
    if (config_integer(config, KNOB_SENDFILE) != SENDFILE_OFF)
        return true;
    return config_refuse(
        config, KNOB_SENDFILE,
        "expected nonblocking or blocking: whether a read would wait is known of the kernel's "
        "cache only");
}

static void lay_out(const struct config *config, struct layout *layout)
{
    const unsigned loops = loop_count(config);

    layout->processes = layout->rows = loops * (1 + helper_count(config));
    layout->serving = layout->descriptor_tables = loops;
}

static struct row_description describe_row(const struct config *config, unsigned row)
{
    const unsigned loops = loop_count(config);
    const bool is_helper = row >= loops;

    return (struct row_description){
        .role = is_helper ? "helper" : "worker",
        .process = row,
        .cpu_position = is_helper ? (row - loops) / helper_count(config) : row,
    };
}

/* One block of memory: the structure, the loops' channels, and behind them the pairs of descriptors. */
static bool prepare(struct master *master)
{
    const unsigned loops = loop_count(master->config), count = helper_count(master->config);
    const size_t pairs_at = sizeof(struct common) + loops * sizeof(struct loop_channels);
    struct common *common = calloc(1, pairs_at + (size_t)loops * count * sizeof(int[2]));
    int (*pairs)[2] = common ? (int (*)[2])((char *)common + pairs_at) : NULL;
    bool ok = common != NULL;

    master->common = common;
    if (ok) {
        common->owners = mmap(NULL, OWNER_SLOTS * sizeof(*common->owners), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        ok = common->owners != MAP_FAILED;
    }
    for (unsigned i = 0; ok && i < loops; i++) {
        common->loops[i].helpers.requests = pairs + i * count;
        ok = helper_channels_open(&common->loops[i].helpers, count) &&
             handover_open(&common->loops[i].handover) == 0;
    }
    if (!ok)
        log_errno("cannot make the channels of the helpers");
    return ok;
}

static void close_pair(const int pair[2])
{
    for (size_t i = 0; i < 2; i++) {
        if (pair[i] > 0)
            close(pair[i]);
    }
}

static void release(struct master *master)
{
    const struct common *common = master->common;

    for (unsigned i = 0; common && i < loop_count(master->config); i++) {
        const struct loop_channels *loop = &common->loops[i];

        handover_close(&loop->handover);
        close_pair(loop->helpers.completions);
        for (unsigned k = 0; k < loop->helpers.count; k++)
            close_pair(loop->helpers.requests[k]);
    }
    if (common && common->owners && common->owners != MAP_FAILED)
        munmap(common->owners, OWNER_SLOTS * sizeof(*common->owners));
}

/* Called with a connection when its helper has fetched what it waited for, up to `to`. */
static void fetched(struct worker *worker, struct helped_connection *helped, off_t to)
{
    helped->connection.delivery.checked = to;
    serving_resume(worker, &helped->connection);
}

/* Sends what is in memory; a helper fetches what comes next if that is not. For the driver. */
static enum send_outcome send_resident(struct worker *worker, struct connection *connection)
{
    struct amped_connection *own = (struct amped_connection *)connection;
    const struct reply *reply = &connection->protocol.reply;
    const enum send_outcome outcome = sending_pass_resident(connection, worker->counters);

    if (outcome != SEND_HELD || helpers_ask(helpers, &own->helped, connection->delivery.file->path,
                                            reply->offset, delivery_window(reply)))
        return outcome;
    connection->delivery.checked = delivery_window(reply); /* without memory for a job the loop waits */
    return SEND_PAUSED;
}

static uint64_t connections_of(const struct worker *worker, unsigned loop)
{
    return __atomic_load_n(&scoreboard_counters(worker->scoreboard, loop)->connections_open,
                           __ATOMIC_RELAXED);
}

/* Says whether the load lets a connection go to event loop `owner`. */
static bool may_forward(const struct worker *worker, unsigned owner)
{
    const int64_t bias = config_integer(worker->config, KNOB_FORWARD_BIAS);

    return bias == KNOB_INF ||
           (int64_t)(connections_of(worker, owner) - connections_of(worker, worker->process)) < bias;
}

/* Hands the connection to the owner of the URL, if that is another event loop. Returns whether it is gone. */
static bool forward(struct worker *worker, struct amped_connection *own, const struct request *request,
                    const char *input, size_t length)
{
    struct connection *connection = &own->helped.connection;
    const struct common *common = worker->common;
    char path[HOST_KEY_MAX];
    _Atomic uint16_t *slot;
    unsigned owner;
    bool is_ours;

    if (hosts_key(&worker->config->hosts, request, input, path) < 0)
        return false;
    slot = &common->owners[hash_text(path) % OWNER_SLOTS];
    owner = atomic_load_explicit(slot, memory_order_relaxed);
    is_ours = owner == 0 || owner == worker->process + 1;
    if (!is_ours && !own->forwarded && !worker->shutting_down && may_forward(worker, owner - 1) &&
        handover_send(&common->loops[owner - 1].handover, connection->fd, connection->delivery.blocking,
                      input, length)) {
        connection_give_away(worker, connection);
        return true;
    }
    own->forwarded = false; /* which was about this request only */
    if (!is_ours || owner == 0)
        atomic_store_explicit(slot, (uint16_t)(worker->process + 1), memory_order_relaxed);
    return false;
}

/* Decides about a request before it is served. For the driver. */
static bool admit(struct worker *worker, struct connection *connection, const struct request *request,
                  const char *input, size_t length)
{
    struct amped_connection *own = (struct amped_connection *)connection;
    const bool is_new = own->asked == 0;
    char wanted[FILE_CACHE_PATH_MAX];

    if (is_new && worker->layout.serving > 1 && !request->has_body &&
        forward(worker, own, request, input, length))
        return false;
    if (answer_would_wait(worker, connection, request, input, &own->asked, wanted) &&
        helpers_ask(helpers, &own->helped, wanted, 0, WINDOW_BYTES))
        return false;
    own->asked = 0;
    return true;
}

static void read_completions(struct worker *worker)
{
    (void)worker;
    helpers_complete(helpers);
}

static void adopted(struct connection *connection)
{
    ((struct amped_connection *)connection)->forwarded = true;
}

/* Tells the other event loops that they get no more connections from this one. */
static void leave(struct worker *worker)
{
    const struct common *common = worker->common;

    for (unsigned i = 0; i < worker->layout.serving; i++) {
        if (i != worker->process)
            handover_end(&common->loops[i].handover);
    }
}

static const struct driver driver = {
    .connection_bytes = sizeof(struct amped_connection),
    .fresh_bytes = sizeof(struct amped_connection),
    .never_waits = true,
    .admit = admit,
    .send = send_resident,
    .expects_more = handover_expects_more,
    .leave = leave,
};

static int run(struct worker *worker)
{
    const struct common *common = worker->common;
    const unsigned loops = loop_count(worker->config), count = helper_count(worker->config);
    const struct loop_channels *own;
    int exit_code;

    if (worker->process >= loops)
        return helper_run(worker, &common->loops[(worker->process - loops) / count].helpers,
                          (worker->process - loops) % count);
    own = &common->loops[worker->process];
    helpers = helpers_create(worker, &own->helpers, fetched);
    if (!helpers)
        return EXIT_RUNTIME;
    handover_expect(worker, &own->handover, loops - 1, adopted);
    worker->sources[worker->source_count++] =
        (struct worker_source){.fd = own->helpers.completions[0], .ready = read_completions};
    exit_code = event_loop_run(worker);
    helpers_destroy(helpers);
    return exit_code;
}

const struct architecture architecture_amped = {
    .name = "amped",
    .help = "an event loop with helper processes for what may wait for a disk",
    .knobs = AMPED_UNDERSTOOD,
    .balances_accepting = true,
    .check = check,
    .lay_out = lay_out,
    .describe_row = describe_row,
    .prepare = prepare,
    .release = release,
    .driver = &driver,
    .run = run,
};

const struct architecture architecture_co_amped = {
    .name = "co-amped",
    .help = "several AMPEDs that hand connections to whoever has served the URL before",
    .knobs = CO_AMPED_UNDERSTOOD,
    .balances_accepting = true,
    .check = check,
    .lay_out = lay_out,
    .describe_row = describe_row,
    .prepare = prepare,
    .release = release,
    .driver = &driver,
    .run = run,
};
