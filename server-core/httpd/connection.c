/*
 * See connection.h. How connections come and go is in connection_life.c.
 */
#include "httpd/connection.h"

#include "common/clock.h"
#include "httpd/http/request.h"
#include "httpd/log.h"
#include "httpd/reply.h"

#include <errno.h>
#include <linux/tcp.h> /* tcp_info with all its fields */
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINGER_NS    (1 * NS_PER_S) /* long enough for a round trip, short enough not to be a burden */
#define LEFTOVER_MIN 1024           /* bytes; doubled as needed */
#define BODY_ROOM    8192           /* bytes of a body that are read, and thrown away, at once */

/* Received bytes that could not be dealt with yet. */
struct leftover {
    struct request request; /* how far the first request in it has been parsed */
    uint32_t length, capacity;
    char bytes[];
};

static void drop_leftover(struct connection *connection)
{
    free(connection->leftover);
    connection->leftover = NULL;
}

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

    return connection->linger || connection->readable || connection->leftover ||
           recv(connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

void connection_finish(struct worker *worker, struct connection *connection)
{
    if (!sends_more(connection)) {
        connection_close(worker, connection, CLOSED_BY_SERVER);
        return;
    }
    shutdown(connection->fd, SHUT_WR);
    drop_leftover(connection);
    connection->state = LINGERING;
    connection_watch(worker, connection);
    timers_set(&worker->timers, &connection->timer, worker->now_ns + LINGER_NS);
    discard(worker, connection);
}

/* Serves the complete requests in `data` until one cannot be answered at once. Returns how many bytes are
 * dealt with. `request` is the state of the first and becomes that of the first one left. */
static size_t serve(struct worker *worker, struct connection *connection, struct request *request,
                    const char *data, size_t length)
{
    size_t served = 0;

    while (connection->state == READING && served < length &&
           request_parse(request, data + served, length - served)) {
        if (request->status == 0 && worker->driver->admit &&
            !worker->driver->admit(worker, connection, request, data + served, length - served))
            break;
        connection->linger = served + request->parsed < length; /* should this be the last reply */
        reply_begin(worker, connection, request, data + served);
        served += request->parsed;
        *request = (struct request){0};
    }
    return served;
}

static void serve_leftover(struct worker *worker, struct connection *connection)
{
    struct leftover *leftover = connection->leftover;
    size_t served;

    if (!leftover)
        return;
    /* A connection that ends drops its leftover; while serving it must stay. */
    connection->leftover = NULL;
    served = serve(worker, connection, &leftover->request, leftover->bytes, leftover->length);
    leftover->length -= (uint32_t)served;
    if (leftover->length == 0 || connection->state == LINGERING || connection->state == CLOSED) {
        free(leftover);
        return;
    }
    memmove(leftover->bytes, leftover->bytes + served, leftover->length);
    leftover->length = (uint32_t)request_keep(&leftover->request, leftover->length);
    connection->leftover = leftover;
}

/* Makes room for more received bytes. Returns false when there is no memory. */
static bool reserve_leftover(struct connection *connection, size_t length)
{
    const uint32_t used = connection->leftover ? connection->leftover->length : 0;
    uint32_t capacity = connection->leftover ? connection->leftover->capacity : LEFTOVER_MIN;
    struct leftover *grown;

    if (connection->leftover && used + length <= capacity)
        return true;
    while (capacity < used + length)
        capacity *= 2;
    grown = realloc(connection->leftover, sizeof(*grown) + capacity);
    if (!grown)
        return false;
    if (!connection->leftover)
        *grown = (struct leftover){0};
    grown->capacity = capacity;
    connection->leftover = grown;
    return true;
}

/* Serves bytes in a buffer and keeps what is left of them. */
static void serve_input(struct worker *worker, struct connection *connection, const char *data, size_t length)
{
    struct request request = {0};
    const size_t served = serve(worker, connection, &request, data, length);
    size_t left;

    if (served == length || connection->state == LINGERING || connection->state == CLOSED)
        return;
    left = request_keep(&request, length - served);
    if (!reserve_leftover(connection, left)) {
        connection_close(worker, connection, CLOSED_BY_SERVER);
        return;
    }
    memcpy(connection->leftover->bytes, data + served, left);
    connection->leftover->length = (uint32_t)left;
    connection->leftover->request = request;
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
        if (connection->leftover) {
            const size_t wanted = connection->leftover->request.head_length > 0 ? BODY_ROOM : LEFTOVER_MIN;

            if (!reserve_leftover(connection, wanted)) {
                connection_close(worker, connection, CLOSED_BY_SERVER);
                return;
            }
            into = connection->leftover->bytes + connection->leftover->length;
            room = connection->leftover->capacity - connection->leftover->length;
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
        if (connection->leftover) {
            connection->leftover->length += (uint32_t)received;
            serve_leftover(worker, connection);
        } else {
            serve_input(worker, connection, worker->input, (size_t)received);
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
    else if (connection->state == READING && connection->leftover)
        progress = connection->leftover->request.body.taken;
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
    if (!connection->leftover) {
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
    if (connection->state == READING && !connection->leftover) {
        serve_input(worker, connection, data, length);
    } else if (reserve_leftover(connection, length)) {
        memcpy(connection->leftover->bytes + connection->leftover->length, data, length);
        connection->leftover->length += (uint32_t)length;
        if (connection->state == READING)
            serve_leftover(worker, connection);
    } else {
        connection_close(worker, connection, CLOSED_BY_SERVER);
    }
    if (connection->state == READING)
        await_request(worker, connection);
}

size_t connection_pending_bytes(const struct connection *connection)
{
    return connection->leftover ? connection->leftover->length : 0;
}

/* What follows when a reply is out or a wait is over: more requests may have come. */
static void go_on(struct worker *worker, struct connection *connection)
{
    if (connection->state == READING)
        serve_leftover(worker, connection);
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
    if (connection->file) {
        connection->state = SENDING;
        reply_continue(worker, connection);
    } else {
        connection->state = READING;
    }
    go_on(worker, connection);
}

struct connection *connection_adopt(struct worker *worker, int fd, bool blocking, const char *input,
                                    size_t length)
{
    struct connection *connection = connection_take(worker, fd, blocking);

    if (!connection || length == 0)
        return connection;
    if (!reserve_leftover(connection, length)) {
        connection_close(worker, connection, CLOSED_BY_SERVER);
        return NULL;
    }
    memcpy(connection->leftover->bytes, input, length);
    connection->leftover->length = (uint32_t)length;
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
            reply_continue(worker, connection);
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
    reply_settle(worker, connection, outcome);
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
    if (connection->state == READING && connection->leftover)
        reply_timeout(worker, connection);
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
