/*
 * uring: TUX's two queues in user space. Instead of waiting until something can be done and then doing it
 * with a system call, the server asks the kernel through a ring in shared memory for what is to be done, and
 * takes the results from another; one system call a turn submits and waits (io_uring(7)).
 *
 *     kernel -- multishot accept --> [accept queue] --> accept phase: up to accept_limit connections, each of
 *                                                       which is received from until it ends
 *     kernel -- received, sent ----> [work queue] ----> work phase: parse, look up, ask for the reply
 *
 * The two phases alternate. As in TUX the work queue may grow while it is worked on: when it is empty the
 * kernel is asked, without waiting, whether more has come, and only then, or after some rounds (TUX has no
 * such bound), it is the accept queue's turn.
 *
 * A reply leaves with one operation, head and body together, from the page cache, into which the file is
 * mapped; there is no copy of it in the server. Received bytes land in buffers that the kernel takes from a
 * pool when they have come, so that an idle connection has none.
 *
 * `workers` processes do this side by side, each with a ring of its own, like those of symped.
 */
#include "httpd/arch/uring.h"

#include "common/clock.h"
#include "httpd/arch/architecture.h"
#include "httpd/file_table.h"
#include "httpd/log.h"
#include "httpd/master.h"
#include "httpd/reply.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUEUE_SIZE  1024        /* completions taken at once */
#define WORK_ROUNDS 16          /* before accepting has its turn, */
#define WORK_NS     NS_PER_MS   /* or rounds that have taken so long */
#define PENDING_MAX (64 * 1024) /* bytes of requests kept behind a reply; then receiving pauses */

static const enum knob_id UNDERSTOOD[] = {
    KNOB_SENDFILE,      KNOB_WORKERS,           KNOB_MAX_CONNECTIONS, KNOB_ACCEPT_LIMIT, KNOB_AFFINITY,
    KNOB_CACHE_ENTRIES, KNOB_KEEPALIVE_TIMEOUT, KNOB_REQUEST_TIMEOUT, KNOB_REUSEPORT,    KNOB_COUNT,
};

/* The connection code knows it as an event set: it arms and closes connections through it. */
struct event_set {
    struct worker *worker;
    struct uring uring;
    struct accept_queue accept_queue;
    struct completion work[QUEUE_SIZE];
    unsigned work_count;
};

/* --- the work queue --- */

/* Says whether the file still has what is to be sent of it. Where one that was shrunk ends, the rest of its
 * last page is zeros, which the kernel would send. */
static bool is_long_enough(const struct connection *connection)
{
    struct stat status;

    return fstat(connection->file->fd, &status) == 0 && status.st_size >= connection->end;
}

/* Sends what is to be sent next, from memory. */
static void send_next(struct event_set *set, struct connection *connection)
{
    const char *contents = NULL;

    if (connection->offset < connection->end && !is_long_enough(connection)) {
        reply_settle(set->worker, connection, SEND_TRUNCATED);
        return;
    }
    if (connection->offset < connection->end)
        contents = file_table_map(connection->file);
    if ((connection->offset < connection->end && !contents) ||
        !uring_send(&set->uring, connection, contents)) {
        log_errno("no memory for a reply");
        connection_close(set->worker, connection, CLOSED_BY_SERVER);
        return;
    }
    connection_pace(set->worker, connection);
}

/* Asks the kernel for what the connection needs after something has happened to it. */
static void dispose(struct event_set *set, struct connection *connection)
{
    const bool paused = connection_pending_bytes(connection) > PENDING_MAX;

    if (connection->state == SENDING && !connection->sending) {
        if (connection->begun)
            turns_append(&set->worker->turns, connection);
        else
            send_next(set, connection);
    }
    if (connection->state == CLOSED) {
        if (connection->receiving)
            uring_cancel_receive(&set->uring, connection);
        if (connection->sending)
            uring_cancel_send(&set->uring, connection);
        connection->generation++;
    } else if (paused) {
        connection->linger = true; /* there may be more that has not been received */
        if (connection->receiving && !connection->pausing)
            connection->pausing = uring_cancel_receive(&set->uring, connection);
    } else if (!connection->receiving && !connection->peer_closed) {
        connection->pausing = false;
        if (!uring_receive(&set->uring, connection))
            log_errno("cannot receive"); /* its timeout ends it */
    }
}

/* The peer will send no more, or the connection is broken. */
static void received_end(struct event_set *set, struct connection *connection)
{
    connection->peer_closed = true;
    if (connection->state != SENDING) /* otherwise it may still want its reply */
        connection_close(set->worker, connection,
                         connection->state == LINGERING ? CLOSED_BY_SERVER : CLOSED_BY_CLIENT);
}

static void receive_completed(struct event_set *set, const struct completion *completion)
{
    struct connection *connection = receiver_of(completion->user_data);
    const bool has_bytes = completion->flags & IORING_CQE_F_BUFFER;

    if (connection) {
        if (!(completion->flags & IORING_CQE_F_MORE))
            connection->receiving = false;
        if (completion->result > 0 && connection->state != LINGERING)
            connection_received(set->worker, connection, uring_bytes(&set->uring, completion->flags),
                                (size_t)completion->result);
        else if (completion->result == 0 || (completion->result < 0 && completion->result != -ENOBUFS &&
                                             completion->result != -ECANCELED))
            received_end(set, connection);
        dispose(set, connection);
    }
    if (has_bytes)
        uring_recycle(&set->uring, completion->flags);
}

/* What the result of a send means. */
static enum send_outcome outcome_of(struct event_set *set, struct connection *connection, int result)
{
    struct stat status;

    if (result >= 0)
        return reply_advance(connection, (size_t)result, set->worker->counters);
    if (result == -EAGAIN || result == -EINTR)
        return SEND_BLOCKED;
    if (result == -EFAULT && connection->file && fstat(connection->file->fd, &status) == 0 &&
        status.st_size < connection->end)
        return SEND_TRUNCATED;
    return SEND_FAILED;
}

static void send_completed(struct event_set *set, const struct completion *completion)
{
    struct connection *connection = uring_sent(&set->uring, sending_of(completion->user_data));

    if (!connection)
        return;
    connection_sent(set->worker, connection, outcome_of(set, connection, completion->result));
    if (connection->peer_closed && connection->state == READING)
        connection_close(set->worker, connection, CLOSED_BY_CLIENT);
    dispose(set, connection);
}

static void woken(struct event_set *set, const struct completion *completion)
{
    uint64_t drained;

    if (read(set->worker->wake_fd, &drained, sizeof(drained)) < 0 && errno != EAGAIN)
        log_errno("cannot read the wake-up");
    if (!(completion->flags & IORING_CQE_F_MORE) && !uring_watch_wake(&set->uring, set->worker->wake_fd))
        log_errno("cannot watch the wake-up");
}

/* Moves completions from the ring into the two queues. */
static void collect(struct event_set *set)
{
    struct counters *counters = set->worker->counters;
    struct completion completions[QUEUE_SIZE];
    const unsigned count = uring_take(&set->uring, completions, QUEUE_SIZE);

    counters->events_returned += count;
    set->work_count = 0;
    for (unsigned i = 0; i < count; i++) {
        if (operation_of(completions[i].user_data) == OP_ACCEPT)
            accept_queue_completed(&set->accept_queue, &completions[i]);
        else if (operation_of(completions[i].user_data) != OP_IGNORED)
            set->work[set->work_count++] = completions[i];
    }
    if (set->work_count > counters->queue_length_max)
        counters->queue_length_max = set->work_count;
}

static void work_through_queue(struct event_set *set)
{
    set->worker->counters->queue_items += set->work_count;
    set->worker->counters->queue_batches += set->work_count > 0;
    for (unsigned i = 0; i < set->work_count; i++) {
        const struct completion *completion = &set->work[i];

        switch (operation_of(completion->user_data)) {
        case OP_RECEIVE:
            receive_completed(set, completion);
            break;
        case OP_SEND:
            send_completed(set, completion);
            break;
        case OP_WAKE:
            woken(set, completion);
            break;
        case OP_ACCEPT:
        case OP_IGNORED:
            break;
        }
    }
}

/* Submits, and takes what has come meanwhile. Returns false on failure. */
static bool turn(struct event_set *set, int timeout_ms)
{
    set->worker->counters->event_calls++;
    if (uring_wait(&set->uring, timeout_ms) != 0) {
        log_errno("cannot wait for completions");
        return false;
    }
    worker_refresh(set->worker);
    collect(set);
    return true;
}

static bool work_phase(struct event_set *set)
{
    const uint64_t begun_ns = set->worker->now_ns;

    for (int round = 0; set->work_count > 0; round++) {
        work_through_queue(set);
        set->work_count = 0;
        if (round == WORK_ROUNDS || set->worker->now_ns - begun_ns > WORK_NS)
            break;
        if (!turn(set, 0))
            return false;
    }
    return true;
}

/* Goes on with some of the replies that could, with about as many bytes as there are in a pass. */
static void sending_phase(struct event_set *set)
{
    struct connection *connection;
    off_t asked = 0;

    while (asked < PASS_BYTES && (connection = turns_take(&set->worker->turns)) != NULL) {
        asked += connection->end - connection->offset;
        send_next(set, connection);
        dispose(set, connection);
    }
}

/* --- timeouts and the end --- */

static void expired(void *user, struct timer *timer)
{
    struct event_set *set = user;
    struct connection *connection = connection_of_timer(timer);

    if (connection_keeps_pace(set->worker, connection))
        return;
    if (connection->state == READING && connection_pending_bytes(connection) > 0)
        reply_timeout(set->worker, connection);
    connection_close(set->worker, connection,
                     connection->state == LINGERING ? CLOSED_BY_SERVER : CLOSED_BY_TIMEOUT);
    dispose(set, connection);
}

/* The server is to shut down: closes a connection that has nothing under way. */
static void retire(void *user, struct timer *timer)
{
    struct event_set *set = user;
    struct connection *connection = connection_of_timer(timer);

    if (connection->state == READING && connection_pending_bytes(connection) == 0) {
        connection_close(set->worker, connection, CLOSED_BY_SERVER);
        dispose(set, connection);
    }
}

/* How long the kernel may let us sleep. */
static int wait_ms(const struct event_set *set)
{
    const int timers_ms =
        set->worker->turns.first ? 0 : timers_wait_ms(&set->worker->timers, set->worker->now_ns);
    const int accepting_ms = accept_queue_wait_ms(&set->accept_queue);

    if (timers_ms < 0 || (accepting_ms >= 0 && accepting_ms < timers_ms))
        return accepting_ms;
    return timers_ms;
}

/* --- what connection.c calls --- */

static int add_connection(struct event_set *set, int fd, uint64_t tag)
{
    struct connection *connection = connection_of_tag(tag);

    connection->fd = fd;
    return uring_receive(&set->uring, connection) ? 0 : -1;
}

static int watch(struct event_set *set, int fd, uint64_t tag, uint32_t interest)
{
    /* The operations that are under way say what is waited for. */
    (void)set, (void)fd, (void)tag, (void)interest;
    return 0;
}

static void close_connection(struct event_set *set, int fd)
{
    if (!uring_close_socket(&set->uring, fd))
        log_errno("cannot close a socket");
}

static void destroy(struct event_set *set)
{
    accept_queue_close(&set->accept_queue);
    uring_close(&set->uring);
    free(set);
}

static const struct event_mechanism completions = {
    .name = "uring",
    .destroy = destroy,
    .add_connection = add_connection,
    .close_connection = close_connection,
    .watch = watch,
};

static struct event_set *create(struct worker *worker)
{
    struct event_set *set = calloc(1, sizeof(*set));
    const char *missing;

    if (!set || !accept_queue_open(&set->accept_queue, worker, &set->uring)) {
        log_errno("cannot make a ring");
        free(set);
        return NULL;
    }
    set->worker = worker;
    missing = uring_open(&set->uring);
    if (missing) {
        log_line("%s", missing);
        accept_queue_close(&set->accept_queue);
        free(set);
        return NULL;
    }
    return set;
}

/* What the kernel may still accept for us is served, unless all is to end. */
static bool may_end(const struct event_set *set)
{
    const struct worker *worker = set->worker;

    return worker->shutting_down && worker->counters->connections_open == 0 &&
           (worker->closing_idle || accept_queue_is_over(&set->accept_queue));
}

static int serve(struct event_set *set)
{
    struct worker *worker = set->worker;
    bool retired = false;

    if (!uring_watch_wake(&set->uring, worker->wake_fd)) {
        log_errno("cannot watch the wake-up");
        return EXIT_RUNTIME;
    }
    while (!may_end(set)) {
        accept_queue_update(&set->accept_queue);
        if (!turn(set, wait_ms(set)))
            return EXIT_RUNTIME;
        accept_queue_serve(&set->accept_queue, set->work_count, retire, set);
        if (!work_phase(set))
            return EXIT_RUNTIME;
        sending_phase(set);
        timers_expire(&worker->timers, worker->now_ns, expired, set);
        if (worker->closing_idle && !retired) {
            timers_for_each(&worker->timers, retire, set);
            retired = true;
        }
    }
    return EXIT_SUCCESS;
}

static int run(struct worker *worker)
{
    int exit_code;

    if (!worker_open(worker))
        return EXIT_RUNTIME;
    worker->mechanism->destroy(worker->events);
    worker->mechanism = &completions;
    worker->events = create(worker);
    if (!worker->events)
        return EXIT_RUNTIME;
    worker->hands_over_replies = true;
    exit_code = serve(worker->events);
    worker_close(worker);
    return exit_code;
}

/* A cached file is mapped, and one that left the cache as long as it is being sent. The kernel does not wait
 * for a socket in non-blocking mode, it fails at once with EAGAIN. */
static void lay_out(const struct config *config, struct layout *layout)
{
    (void)config;
    layout->blocking_listeners = true;
    layout->file_mappings = layout->connection_mappings = 1;
}

static bool check(const struct config *config)
{
    const char *missing = uring_unavailable();
    bool ok = true;

    if (missing)
        ok = config_refuse(config, KNOB_ARCHITECTURE, missing);
    if (config_integer(config, KNOB_SENDFILE) != SENDFILE_NONBLOCKING)
        ok = config_refuse(
            config, KNOB_SENDFILE,
            "expected nonblocking: this architecture sends from the page cache and never waits");
    return ok;
}

extern const struct architecture architecture_uring;

const struct architecture architecture_uring = {
    .name = "uring",
    .help = "processes that ask the kernel to accept, receive and send through a ring",
    .knobs = UNDERSTOOD,
    .balances_accepting = true,
    .check = check,
    .lay_out = lay_out,
    .run = run,
};
