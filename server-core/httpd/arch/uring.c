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
 * kernel is given what has been asked for, and asked, without waiting, what has come of it; only then, or
 * after some rounds (TUX has no such bound), it is the accept queue's turn. A round that has asked for
 * nothing is the last one: the call that waits would bring the same.
 *
 * A reply leaves with one operation, head and body together (uring_send.c). What would have to wait for a
 * disk is done by threads of the kernel: reading what is not in memory, and looking up names that the kernel
 * does not have in its cache (uring_names.c). Received bytes land in buffers that the kernel takes from a
 * pool when they have come, so that an idle connection has none.
 *
 * `workers` processes do this side by side, each with a ring of its own, like those of symped.
 */
#include "httpd/arch/uring.h"

#include "common/clock.h"
#include "httpd/arch/architectures.h"
#include "httpd/connection/answer.h"
#include "httpd/connection/sending.h"
#include "httpd/connection/serving.h"
#include "httpd/log.h"
#include "httpd/process/master.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define QUEUE_SIZE  1024        /* completions taken at once */
#define WORK_ROUNDS 16          /* before accepting has its turn, */
#define WORK_NS     NS_PER_MS   /* or rounds that have taken so long */
#define PENDING_MAX (64 * 1024) /* bytes of requests kept behind a reply; then receiving pauses */

static const enum knob_id UNDERSTOOD[] = {
    KNOB_SENDFILE,      KNOB_WORKERS,           KNOB_MAX_CONNECTIONS, KNOB_ACCEPT_LIMIT, KNOB_AFFINITY,
    KNOB_CACHE_ENTRIES, KNOB_KEEPALIVE_TIMEOUT, KNOB_REQUEST_TIMEOUT, KNOB_REUSEPORT,    KNOB_COUNT,
};

struct queues {
    struct worker *worker;
    struct uring uring;
    struct accept_queue accept_queue;
    struct completion work[QUEUE_SIZE];
    unsigned work_count;
};

/* --- the work queue --- */

/* Asks the kernel for what the connection needs after something has happened to it. */
static void dispose(struct queues *queues, struct uring_connection *own)
{
    struct connection *connection = &own->connection;
    const bool paused = protocol_kept_bytes(&connection->protocol) > PENDING_MAX;

    if (connection->state == CLOSED) {
        if (own->receiving)
            uring_cancel_receive(&queues->uring, own);
        if (own->sending)
            uring_cancel_send(&queues->uring, own);
        uring_forget_opening(own);
        own->generation++;
    } else if (paused) {
        connection->protocol.more_comes = true; /* there may be more that has not been received */
        if (own->receiving && !own->pausing)
            own->pausing = uring_cancel_receive(&queues->uring, own);
    } else if (!own->receiving && !connection->peer_closed) {
        own->pausing = false;
        if (!uring_receive(&queues->uring, own))
            log_errno("cannot receive"); /* its timeout ends it */
    }
}

/* The peer will send no more, or the connection is broken. */
static void received_end(struct queues *queues, struct connection *connection)
{
    connection->peer_closed = true;
    if (connection->state != SENDING &&
        connection->state != WAITING) /* or else it may still want its reply */
        connection_close(queues->worker, connection,
                         connection->state == LINGERING ? CLOSED_BY_SERVER : CLOSED_BY_CLIENT);
}

static void receive_completed(struct queues *queues, const struct completion *completion)
{
    struct uring_connection *own = receiver_of(completion->user_data);
    const bool has_bytes = completion->flags & IORING_CQE_F_BUFFER;

    if (own) {
        struct connection *connection = &own->connection;

        if (!(completion->flags & IORING_CQE_F_MORE))
            own->receiving = false;
        if (completion->result > 0 && connection->state != LINGERING)
            serving_received(queues->worker, connection, uring_bytes(&queues->uring, completion->flags),
                             (size_t)completion->result);
        else if (completion->result == 0 || (completion->result < 0 && completion->result != -ENOBUFS &&
                                             completion->result != -ECANCELED))
            received_end(queues, connection);
        dispose(queues, own);
    }
    if (has_bytes)
        uring_recycle(&queues->uring, completion->flags);
}

static void send_completed(struct queues *queues, const struct completion *completion)
{
    struct sending *sending = sending_of(completion->user_data);
    struct uring_connection *own = sending->own;
    enum send_outcome outcome = SEND_PAUSED;
    struct connection *connection;

    if (own && !sending->waits && completion->result == -EAGAIN && uring_await_room(&queues->uring, sending))
        return;
    uring_sent(sending);
    connection = own ? &own->connection : NULL;
    if (own && !sending->waits)
        outcome = uring_send_outcome(queues->worker, connection, completion->result);
    if (own && outcome == SEND_PAUSED && !reply_own_text(&connection->protocol.reply))
        outcome = SEND_FAILED;
    uring_forget_sending(&queues->uring, sending);
    if (!own)
        return;
    serving_sent(queues->worker, connection, outcome);
    if (connection->peer_closed && connection->state == READING)
        connection_close(queues->worker, connection, CLOSED_BY_CLIENT);
    dispose(queues, own);
}

static void open_completed(struct queues *queues, const struct completion *completion)
{
    struct uring_connection *own = uring_opened(opening_of(completion->user_data), completion->result);

    if (!own)
        return;
    serving_resume(queues->worker, &own->connection);
    dispose(queues, own);
}

static void woken(struct queues *queues, const struct completion *completion)
{
    uint64_t drained;

    if (read(queues->worker->wake_fd, &drained, sizeof(drained)) < 0 && errno != EAGAIN)
        log_errno("cannot read the wake-up");
    accept_queue_look(&queues->accept_queue);
    if (!(completion->flags & IORING_CQE_F_MORE) &&
        !uring_watch_wake(&queues->uring, queues->worker->wake_fd))
        log_errno("cannot watch the wake-up");
}

/* Moves completions from the ring into the two queues. */
static void collect(struct queues *queues)
{
    struct counters *counters = queues->worker->counters;
    struct completion completions[QUEUE_SIZE];
    const unsigned count = uring_take(&queues->uring, completions, QUEUE_SIZE);

    counters->events_returned += count;
    queues->work_count = 0;
    for (unsigned i = 0; i < count; i++) {
        if (operation_of(completions[i].user_data) == OP_ACCEPT)
            accept_queue_completed(&queues->accept_queue, &completions[i]);
        else if (operation_of(completions[i].user_data) == OP_ARRIVAL)
            accept_queue_arrived(&queues->accept_queue, &completions[i]);
        else if (operation_of(completions[i].user_data) != OP_IGNORED)
            queues->work[queues->work_count++] = completions[i];
    }
    if (queues->work_count > counters->queue_length_max)
        counters->queue_length_max = queues->work_count;
}

static void work_through_queue(struct queues *queues)
{
    queues->worker->counters->queue_items += queues->work_count;
    queues->worker->counters->queue_batches += queues->work_count > 0;
    for (unsigned i = 0; i < queues->work_count; i++) {
        const struct completion *completion = &queues->work[i];

        switch (operation_of(completion->user_data)) {
        case OP_RECEIVE:
            receive_completed(queues, completion);
            break;
        case OP_SEND:
            send_completed(queues, completion);
            break;
        case OP_OPEN:
            open_completed(queues, completion);
            break;
        case OP_WAKE:
            woken(queues, completion);
            break;
        case OP_ACCEPT:
        case OP_ARRIVAL:
        case OP_IGNORED:
            break;
        }
    }
}

/* Submits, and takes what has come meanwhile. Returns false on failure. */
static bool turn(struct queues *queues, int timeout_ms)
{
    queues->worker->counters->event_calls++;
    if (uring_wait(&queues->uring, timeout_ms) != 0) {
        log_errno("cannot wait for completions");
        return false;
    }
    worker_refresh(queues->worker);
    collect(queues);
    return true;
}

static bool work_phase(struct queues *queues)
{
    const uint64_t begun_ns = queues->worker->now_ns;

    for (int round = 1; queues->work_count > 0; round++) {
        work_through_queue(queues);
        queues->work_count = 0;
        if (!uring_has_asked(&queues->uring) || round == WORK_ROUNDS ||
            queues->worker->now_ns - begun_ns > WORK_NS)
            break;
        if (!turn(queues, 0))
            return false;
    }
    return true;
}

/* Goes on with some of the replies that could, with about as many bytes as there are in a pass. */
static void sending_phase(struct queues *queues)
{
    struct turn *turn;
    off_t asked = 0;

    while (asked < PASS_BYTES && (turn = turns_take(&queues->worker->turns)) != NULL) {
        struct connection *connection = connection_of_turn(turn);

        asked += connection->protocol.reply.end - connection->protocol.reply.offset;
        sending_continue(queues->worker, connection);
        dispose(queues, (struct uring_connection *)connection);
    }
}

/* --- timeouts and the end --- */

static void expired(void *user, struct timer *timer)
{
    struct queues *queues = user;
    struct connection *connection = connection_of_timer(timer);

    if (connection_keeps_pace(queues->worker, connection))
        return;
    if (connection->state == READING && protocol_kept_bytes(&connection->protocol) > 0)
        answer_timeout(queues->worker, connection);
    connection_close(queues->worker, connection,
                     connection->state == LINGERING ? CLOSED_BY_SERVER : CLOSED_BY_TIMEOUT);
    dispose(queues, (struct uring_connection *)connection);
}

/* A worker that was held up may look at the clock before it has looked at what arrived meanwhile. So a time
 * that is over is a reason to look; only a peer that has done nothing until then is cut off. Returns false on
 * failure. */
static bool expire(struct queues *queues)
{
    struct worker *worker = queues->worker;
    const uint64_t now_ns = worker->now_ns;

    if (timers_wait_ms(&worker->timers, now_ns) == 0 && (!turn(queues, 0) || !work_phase(queues)))
        return false;
    timers_expire(&worker->timers, now_ns, expired, queues);
    return true;
}

/* The server is to shut down: closes a connection that has nothing under way. */
static void retire(void *user, struct timer *timer)
{
    struct queues *queues = user;
    struct connection *connection = connection_of_timer(timer);

    if (connection->state == READING && protocol_kept_bytes(&connection->protocol) == 0 &&
        serving_may_retire(queues->worker, connection)) {
        connection_close(queues->worker, connection, CLOSED_BY_SERVER);
        dispose(queues, (struct uring_connection *)connection);
    }
}

/* How long the kernel may let us sleep. */
static int wait_ms(const struct queues *queues)
{
    const int timers_ms =
        queues->worker->turns.first ? 0 : timers_wait_ms(&queues->worker->timers, queues->worker->now_ns);
    const int accepting_ms = accept_queue_wait_ms(&queues->accept_queue);

    if (timers_ms < 0 || (accepting_ms >= 0 && accepting_ms < timers_ms))
        return accepting_ms;
    return timers_ms;
}

/* --- the driver --- */

static enum send_outcome send_by_ring(struct worker *worker, struct connection *connection)
{
    struct queues *queues = worker->own;

    return uring_send(&queues->uring, worker, connection);
}

static bool admit(struct worker *worker, struct connection *connection, const struct request *request,
                  const char *input, size_t length)
{
    struct queues *queues = worker->own;

    (void)length;
    return !uring_look_up(&queues->uring, worker, connection, request, input);
}

static bool open_connection(struct worker *worker, struct connection *connection)
{
    struct queues *queues = worker->own;

    return uring_receive(&queues->uring, (struct uring_connection *)connection);
}

/* The operations that are under way say what is waited for. */
static void watch(struct worker *worker, struct connection *connection)
{
    (void)worker, (void)connection;
}

static void close_connection(struct worker *worker, int fd)
{
    struct queues *queues = worker->own;

    if (!uring_close_socket(&queues->uring, fd))
        log_errno("cannot close a socket");
}

static const struct driver driver = {
    .connection_bytes = sizeof(struct uring_connection),
    .fresh_bytes = offsetof(struct uring_connection, generation),
    .never_waits = true,
    .open = open_connection,
    .watch = watch,
    .close = close_connection,
    .admit = admit,
    .send = send_by_ring,
};

static void destroy(struct queues *queues)
{
    accept_queue_close(&queues->accept_queue);
    uring_close(&queues->uring);
    free(queues);
}

static struct queues *create(struct worker *worker)
{
    struct queues *queues = calloc(1, sizeof(*queues));
    const char *missing;

    if (!queues || !accept_queue_open(&queues->accept_queue, worker, &queues->uring)) {
        log_errno("cannot make a ring");
        free(queues);
        return NULL;
    }
    queues->worker = worker;
    missing = uring_open(&queues->uring);
    if (missing) {
        log_error("%s", missing);
        accept_queue_close(&queues->accept_queue);
        free(queues);
        return NULL;
    }
    return queues;
}

/* What the kernel may still accept for us is served, unless all is to end. */
static bool may_end(const struct queues *queues)
{
    const struct worker *worker = queues->worker;

    return worker->shutting_down && worker->counters->connections_open == 0 &&
           (worker->closing_idle || accept_queue_is_over(&queues->accept_queue));
}

static int serve(struct queues *queues)
{
    struct worker *worker = queues->worker;
    bool retired = false;

    if (!uring_watch_wake(&queues->uring, worker->wake_fd)) {
        log_errno("cannot watch the wake-up");
        return EXIT_RUNTIME;
    }
    while (!may_end(queues)) {
        accept_queue_update(&queues->accept_queue);
        if (!turn(queues, wait_ms(queues)))
            return EXIT_RUNTIME;
        accept_queue_serve(&queues->accept_queue, queues->work_count);
        if (!work_phase(queues))
            return EXIT_RUNTIME;
        if (accept_queue_wants_places(&queues->accept_queue)) {
            if (!turn(queues, 0) || !work_phase(queues))
                return EXIT_RUNTIME;
            accept_queue_make_places(&queues->accept_queue, retire, queues);
        }
        sending_phase(queues);
        if (!expire(queues))
            return EXIT_RUNTIME;
        if (worker->closing_idle && !retired) {
            timers_for_each(&worker->timers, retire, queues);
            retired = true;
        }
    }
    return EXIT_SUCCESS;
}

static int run(struct worker *worker)
{
    struct queues *queues;
    int exit_code;

    if (!worker_open(worker))
        return EXIT_RUNTIME;
    worker->own = queues = create(worker);
    if (!queues)
        return EXIT_RUNTIME;
    exit_code = serve(queues);
    destroy(queues);
    worker_close(worker);
    return exit_code;
}

/* A cached file is mapped, and one that left the cache as long as it is being sent. The kernel does not wait
 * for a socket in non-blocking mode, it fails at once with EAGAIN. */
static void lay_out(const struct config *config, struct layout *layout)
{
    (void)config;
    layout->blocking_listeners = layout->has_rings = true;
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
            "expected nonblocking: this architecture sends from the page cache and waits for no client");
    return ok;
}

const struct architecture architecture_uring = {
    .name = "uring",
    .help = "processes that ask the kernel to accept, receive and send through a ring",
    .knobs = UNDERSTOOD,
    .can_be_copied = true,
    .balances_accepting = true,
    .check = check,
    .lay_out = lay_out,
    .driver = &driver,
    .run = run,
};
