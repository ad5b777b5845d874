/*
 * See connection.h. How connections come and go is in connection_life.c.
 */
#include "httpd/connection/connection.h"

#include "common/clock.h"
#include "httpd/connection/answer.h"
#include "httpd/connection/sending.h"
#include "httpd/log.h"

#include <errno.h>
#include <linux/tcp.h> /* tcp_info with all its fields */
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINGER_NS (1 * NS_PER_S) /* long enough for a round trip, short enough not to be a burden */

void connection_watch(struct worker *worker, struct connection *connection)
{
    const bool sending = connection->state == SENDING, waiting = connection->state == WAITING;
    uint8_t interest = connection->interest;

    if (worker->driver->watch) {
        worker->driver->watch(worker, connection);
        return;
    }
    if (worker->mechanism->level)
        interest = waiting ? 0 : sending ? EVENT_WRITABLE : EVENT_READABLE;
    else if (sending)
        interest |= EVENT_WRITABLE;
    if (interest == connection->interest)
        return;
    connection->interest = interest;
    if (worker->mechanism->watch(worker->events, connection->fd, connection_tag(connection), interest) != 0)
        log_errno("cannot watch a connection"); /* its timeout ends it */
}

/* Has the event set report the connection again, for it has not been worked on to the end. */
static void rearm(struct worker *worker, struct connection *connection)
{
    if (worker->mechanism && worker->mechanism->rearm)
        worker->mechanism->rearm(worker->events, connection->fd, connection_tag(connection),
                                 connection->interest);
}

/* Reads and forgets what the peer sends after the last reply. */
static void discard(struct worker *worker, struct connection *connection)
{
    /* As much as one read takes per event: a peer that sends without end must not occupy the worker. */
    const ssize_t received = recv(connection->fd, worker->input, INPUT_BYTES, MSG_DONTWAIT);

    if (received == 0 || (received < 0 && errno != EAGAIN && errno != EINTR)) {
        connection_close(worker, connection, CLOSED_BY_SERVER);
    } else if (received == INPUT_BYTES || (received > 0 && connection->peer_closed)) {
        rearm(worker, connection);
    }
}

/* Says whether the peer sends more than has been read: then closing would reset the connection. The socket is
 * looked at, for where levels are reported nobody has said what came behind the request. */
static bool sends_more(const struct connection *connection)
{
    char byte;

    return connection->protocol.more_comes || connection->readable || connection->protocol.input ||
           recv(connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

void connection_finish(struct worker *worker, struct connection *connection)
{
    if (!sends_more(connection)) {
        connection_close(worker, connection, CLOSED_BY_SERVER);
        return;
    }
    shutdown(connection->fd, SHUT_WR);
    protocol_drop_input(&connection->protocol);
    connection->state = LINGERING;
    connection_watch(worker, connection);
    timers_set(&worker->timers, &connection->timer, worker->now_ns + LINGER_NS);
    discard(worker, connection);
}

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
        char *into = worker->input;
        size_t room = INPUT_BYTES;
        ssize_t received;

        if (total >= INPUT_BYTES) {
            rearm(worker, connection);
            return;
        }
        if (connection->protocol.input) {
            into = protocol_room(&connection->protocol, &room);
            if (!into) {
                connection_close(worker, connection, CLOSED_BY_SERVER);
                return;
            }
        }
        received = recv(connection->fd, into, room, MSG_DONTWAIT);
        if (received < 0 && errno == EINTR)
            continue;
        if (received < 0 && errno == EAGAIN) {
            connection->readable = false;
            return;
        }
        if (received <= 0) {
            connection_close(worker, connection, CLOSED_BY_CLIENT);
            return;
        }
        total += (size_t)received;
        connection->readable = (size_t)received == room || connection->peer_closed;
        if (connection->protocol.input) {
            protocol_filled(&connection->protocol, (size_t)received);
            serve_kept(worker, connection);
        } else {
            serve_bytes(worker, connection, worker->input, (size_t)received);
        }
    }
}

void connection_pace(struct worker *worker, struct connection *connection)
{
    if (connection->pacing)
        return;
    connection->pacing = true;
    connection->progress = 0;
    timers_set(&worker->timers, &connection->timer, worker->now_ns + worker->request_timeout_ns);
}

/* Returns how many bytes the peer has acknowledged since the connection began. */
static uint64_t acknowledged_bytes(int fd)
{
    struct tcp_info info = {0};
    socklen_t length = sizeof(info);

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 ? info.tcpi_bytes_acked : 0;
}

bool connection_keeps_pace(struct worker *worker, struct connection *connection)
{
    const double least = (double)worker->min_bytes_per_s * (double)worker->request_timeout_ns / 1e9;
    uint64_t progress = 0, since;

    if (connection->state == SENDING)
        progress = acknowledged_bytes(connection->fd);
    else if (connection->state == READING)
        progress = protocol_body_bytes(&connection->protocol);
    since = progress > connection->progress ? progress - connection->progress : 0;
    if ((since == 0 || (double)since < least) && !(connection->state == SENDING && connection->has_turn))
        return false;
    connection->progress = progress;
    timers_set(&worker->timers, &connection->timer, worker->now_ns + worker->request_timeout_ns);
    return true;
}

/* Sets the timeout of a connection that waits for the peer to send. */
static void await_request(struct worker *worker, struct connection *connection)
{
    if (!connection->protocol.input) {
        connection->reading_head = false;
        timers_set(&worker->timers, &connection->timer, worker->now_ns + worker->keepalive_timeout_ns);
    } else if (!connection->reading_head) {
        /* Once per request: a peer that sends it byte by byte gains no time. */
        connection->reading_head = true;
        connection->progress = 0;
        timers_set(&worker->timers, &connection->timer, worker->now_ns + worker->request_timeout_ns);
    }
}

void connection_received(struct worker *worker, struct connection *connection, const char *data,
                         size_t length)
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
        await_request(worker, connection);
}

/* What follows when a reply is out or a wait is over: more requests may have come. */
static void go_on(struct worker *worker, struct connection *connection)
{
    if (connection->state == READING)
        serve_kept(worker, connection);
    receive(worker, connection);
    if (connection->state == READING) {
        connection_watch(worker, connection);
        await_request(worker, connection);
    }
}

void connection_suspend(struct worker *worker, struct connection *connection)
{
    connection->state = WAITING;
    connection_watch(worker, connection);
    timers_set(&worker->timers, &connection->timer, worker->now_ns + worker->request_timeout_ns);
}

void connection_resume(struct worker *worker, struct connection *connection)
{
    if (connection->delivery.file) {
        connection->state = SENDING;
        sending_continue(worker, connection);
    } else {
        connection->state = READING;
    }
    go_on(worker, connection);
}

struct connection *connection_adopt(struct worker *worker, int fd, bool blocking, const char *input,
                                    size_t length)
{
    struct connection *connection = connection_take(worker, fd, blocking);

    if (connection && length > 0 && !protocol_append(&connection->protocol, input, length)) {
        connection_close(worker, connection, CLOSED_BY_SERVER);
        return NULL;
    }
    return connection;
}

void connection_serve_adopted(struct worker *worker, struct connection *connection)
{
    connection->readable = true; /* what came in between was reported to the one that had it */
    go_on(worker, connection);
    if (worker->closing_idle) /* the others have been retired already */
        connection_retire(worker, &connection->timer);
}

/* Says whether the connection has been reset or closed in both directions. That is reported whatever is
 * watched, and by levels again and again. */
static bool is_broken(int fd)
{
    struct pollfd polled = {.fd = fd};

    return poll(&polled, 1, 0) > 0;
}

void connection_run(struct worker *worker, struct connection *connection, uint32_t event_flags)
{
    if (event_flags & (EVENT_READABLE | EVENT_PEER_CLOSED))
        connection->readable = true;
    if (event_flags & EVENT_PEER_CLOSED)
        connection->peer_closed = true;

    switch ((enum connection_state)connection->state) {
    case LINGERING:
        discard(worker, connection);
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
            await_request(worker, connection);
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

void connection_sent(struct worker *worker, struct connection *connection, enum send_outcome outcome)
{
    sending_settle(worker, connection, outcome);
    go_on(worker, connection);
}

/*
 * A worker that was held up, by a disk or by a blocking sendfile, may look at the clock before it has looked
 * at what arrived meanwhile. So a timeout that has expired is a reason to look; only a peer that has done
 * nothing is cut off.
 */
void connection_expired(void *user, struct timer *timer)
{
    struct worker *worker = user;
    struct connection *connection = connection_of_timer(timer);
    const uint64_t requests = worker->counters->requests;
    const uint64_t bytes_sent = worker->counters->bytes_sent;

    if (connection->state == LINGERING) {
        connection_close(worker, connection, CLOSED_BY_SERVER);
        return;
    }
    connection_run(worker, connection, EVENT_READABLE | EVENT_WRITABLE);
    if (connection->state == CLOSED || connection->state == LINGERING ||
        (connection->state != SENDING &&
         (worker->counters->requests != requests || worker->counters->bytes_sent != bytes_sent)) ||
        connection_keeps_pace(worker, connection))
        return;
    if (connection->state == READING && connection->protocol.input)
        answer_timeout(worker, connection);
    connection_close(worker, connection, CLOSED_BY_TIMEOUT);
}

void connection_retire(void *user, struct timer *timer)
{
    struct worker *worker = user;
    struct connection *connection = connection_of_timer(timer);

    if (connection->state != READING)
        return;
    connection->readable = true;
    receive(worker, connection);
    if (connection_is_idle(connection))
        connection_close(worker, connection, CLOSED_BY_SERVER);
}
