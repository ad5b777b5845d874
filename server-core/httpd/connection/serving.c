/*
 * See serving.h.
 */
#include "httpd/connection/serving.h"

#include "httpd/connection/answer.h"
#include "httpd/connection/recycle.h"
#include "httpd/connection/sending.h"

#include <poll.h>

/* Serves the complete requests in the feed until one cannot be answered at once, and keeps what is left. A
 * connection that has ended needs none of it. */
static void serve(struct worker *worker, struct connection *connection, struct feed *feed)
{
    while (connection->state == READING && protocol_next(feed)) {
        if (feed->request.status == 0 && worker->driver->admit &&
            !worker->driver->admit(worker, connection, &feed->request, feed->bytes, feed->length))
            break;
        answer_request(worker, connection, feed);
        protocol_step(feed);
    }
    if (connection->state == LINGERING || connection->state == CLOSED)
        protocol_forget(feed);
    else if (!protocol_keep(&connection->protocol, feed))
        connection_close(worker, connection, CLOSED_BY_SERVER);
}

static void serve_kept(struct worker *worker, struct connection *connection)
{
    struct feed feed;

    if (protocol_feed_kept(&connection->protocol, &feed))
        serve(worker, connection, &feed);
}

/* Serves bytes in a buffer; nothing is kept. */
static void serve_bytes(struct worker *worker, struct connection *connection, const char *bytes,
                        size_t length)
{
    struct feed feed;

    protocol_feed(&feed, bytes, length);
    serve(worker, connection, &feed);
}

/*
 * Reads until the socket is drained or a reply blocks, and serves what comes. After one buffer full the
 * others get their turn, and the event set is asked to report this connection again.
 */
static void receive(struct worker *worker, struct connection *connection)
{
    size_t total = 0;

    while (connection->state == READING && connection->readable) {
        struct feed feed;
        size_t received;

        if (total >= INPUT_BYTES) {
            connection_rearm(worker, connection);
            return;
        }
        received = connection_receive(worker, connection, &feed);
        if (received == 0)
            return;
        total += received;
        serve(worker, connection, &feed);
    }
}

void serving_await_request(struct worker *worker, struct connection *connection)
{
    if (!connection->protocol.input) {
        connection->reading_head = false;
        if (connection->has_asked)
            timers_set(&worker->timers, &connection->timer, worker->now_ns + worker->keepalive_timeout_ns);
    } else if (!connection->reading_head) {
        /* Once per request: a peer that sends it byte by byte gains no time. */
        connection->reading_head = true;
        connection->progress = 0;
        timers_set(&worker->timers, &connection->timer, worker->now_ns + worker->request_timeout_ns);
    }
}

void serving_received(struct worker *worker, struct connection *connection, const char *data, size_t length)
{
    if (connection_is_idle(connection)) {
        serve_bytes(worker, connection, data, length);
    } else if (protocol_append(&connection->protocol, data, length)) {
        if (connection->state == READING)
            serve_kept(worker, connection);
    } else {
        connection_close(worker, connection, CLOSED_BY_SERVER);
    }
    if (connection->state == READING)
        serving_await_request(worker, connection);
}

/* What follows when a reply is out or a wait is over: more requests may have come. */
static void go_on(struct worker *worker, struct connection *connection)
{
    if (connection->state == READING)
        serve_kept(worker, connection);
    receive(worker, connection);
    if (connection->state == READING) {
        connection_watch(worker, connection);
        serving_await_request(worker, connection);
    }
}

void serving_resume(struct worker *worker, struct connection *connection)
{
    if (connection->delivery.file) {
        connection->state = SENDING;
        sending_continue(worker, connection);
    } else {
        connection->state = READING;
    }
    go_on(worker, connection);
}

struct connection *serving_adopt(struct worker *worker, int fd, bool blocking, const char *input,
                                 size_t length)
{
    struct connection *connection = connection_take(worker, fd, blocking);

    if (connection && length > 0 && !protocol_append(&connection->protocol, input, length)) {
        connection_close(worker, connection, CLOSED_BY_SERVER);
        return NULL;
    }
    return connection;
}

void serving_begin_adopted(struct worker *worker, struct connection *connection)
{
    connection->readable = true; /* what came in between was reported to the one that had it */
    go_on(worker, connection);
    if (worker->closing_idle) /* the others have been retired already */
        serving_retire(worker, &connection->timer);
}

/* Says whether the connection has been reset or closed in both directions. That is reported whatever is
 * watched, and by levels again and again. */
static bool is_broken(int fd)
{
    struct pollfd polled = {.fd = fd};

    return poll(&polled, 1, 0) > 0;
}

void serving_run(struct worker *worker, struct connection *connection, uint32_t event_flags)
{
    if (event_flags & (EVENT_READABLE | EVENT_PEER_CLOSED))
        connection->readable = true;
    if (event_flags & EVENT_PEER_CLOSED)
        connection->peer_closed = true;

    switch ((enum connection_state)connection->state) {
    case LINGERING:
        connection_discard(worker, connection);
        return;
    case SENDING:
        /* What the peer sends meanwhile is no reason to try again: it would gain time by that. */
        if (event_flags & (EVENT_WRITABLE | EVENT_PEER_CLOSED)) {
            sending_continue(worker, connection);
            go_on(worker, connection);
        }
        return;
    case READING:
        receive(worker, connection);
        if (connection->state == READING) {
            connection_watch(worker, connection);
            serving_await_request(worker, connection);
        }
        return;
    case WAITING:
        if (event_flags & EVENT_PEER_CLOSED && is_broken(connection->fd))
            connection_close(worker, connection, CLOSED_BY_CLIENT);
        return;
    case CLOSED:
        return;
    }
}

void serving_sent(struct worker *worker, struct connection *connection, enum send_outcome outcome)
{
    sending_settle(worker, connection, outcome);
    go_on(worker, connection);
}

/*
 * A worker that was held up, by a disk or by a blocking sendfile, may look at the clock before it has looked
 * at what arrived meanwhile. So a timeout that has expired is a reason to look; only a peer that has done
 * nothing is cut off.
 */
void serving_expired(void *user, struct timer *timer)
{
    struct worker *worker = user;
    struct connection *connection = connection_of_timer(timer);
    const uint64_t requests = worker->counters->requests;
    const uint64_t bytes_sent = worker->counters->bytes_sent;

    if (connection->state == LINGERING) {
        connection_close(worker, connection, CLOSED_BY_SERVER);
        return;
    }
    serving_run(worker, connection, EVENT_READABLE | EVENT_WRITABLE);
    if (connection->state == CLOSED || connection->state == LINGERING)
        return;
    if (worker->counters->requests != requests) {
        if (connection->state == SENDING)
            connection_pace(worker, connection); /* its time begins with the reply, which may be elsewhere */
        return;
    }
    if ((connection->state != SENDING && worker->counters->bytes_sent != bytes_sent) ||
        connection_keeps_pace(worker, connection))
        return;
    if (connection->state == READING && connection->protocol.input)
        answer_timeout(worker, connection);
    connection_close(worker, connection, CLOSED_BY_TIMEOUT);
}

bool serving_may_retire(struct worker *worker, struct connection *connection)
{
    const uint64_t until_ns = connection->started_ns + RECYCLE_IDLE_NS;

    if (connection->has_asked || until_ns <= worker->now_ns)
        return true;
    timers_set(&worker->timers, &connection->timer, until_ns);
    return false;
}

void serving_retire(void *user, struct timer *timer)
{
    struct worker *worker = user;
    struct connection *connection = connection_of_timer(timer);

    if (connection->state != READING)
        return;
    connection->readable = true;
    receive(worker, connection);
    if (connection_is_idle(connection) && serving_may_retire(worker, connection))
        connection_close(worker, connection, CLOSED_BY_SERVER);
}
