/*
 * See connection.h.
 */
#include "httpd/connection/connection.h"

#include "common/clock.h"
#include "httpd/connection/access_log.h"
#include "httpd/log.h"

#include <errno.h>
#include <linux/tcp.h> /* tcp_info with all its fields */
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINGER_NS (1 * NS_PER_S) /* long enough for a round trip, short enough not to be a burden */

const struct driver driver_usual = {
    .connection_bytes = sizeof(struct connection),
    .fresh_bytes = sizeof(struct connection),
};

void connection_add_chunk(void *user, struct connection *chunk)
{
    struct worker *worker = user;

    for (size_t i = 0; i < CONNECTIONS_PER_CHUNK; i++) {
        struct connection *connection =
            (struct connection *)((char *)chunk + i * worker->driver->connection_bytes);

        connection->next_free = worker->free_connections;
        worker->free_connections = connection;
    }
}

static struct connection *allocate(struct worker *worker)
{
    struct connection *connection;

    if (!worker->free_connections) {
        struct connection *chunk = worker->driver->allocate
                                       ? worker->driver->allocate(worker)
                                       : calloc(CONNECTIONS_PER_CHUNK, worker->driver->connection_bytes);

        if (chunk)
            connection_add_chunk(worker, chunk);
    }
    connection = worker->free_connections;
    if (connection) {
        worker->free_connections = connection->next_free;
        memset(connection, 0, worker->driver->fresh_bytes);
    }
    return connection;
}

/* Only the worker itself writes its count; others read it to see who has places left (recycle.c). */
static void count_open(const struct worker *worker, int64_t change)
{
    uint64_t *open = &worker->counters->connections_open;

    __atomic_store_n(open, *open + (uint64_t)change, __ATOMIC_RELAXED);
}

void connection_log_request(struct worker *worker, struct connection *connection,
                            const struct request *request, const char *data)
{
    if (!access_log_begin(&connection->log_entry, connection->fd, request, data, worker->date.second))
        access_log_count_dropped(worker->counters, 1);
}

void connection_log_reply(struct worker *worker, struct connection *connection)
{
    if (!access_log_end(worker->access_log, connection->log_entry, &connection->protocol.reply))
        access_log_count_dropped(worker->counters, 1);
}

void connection_drop_reply(struct connection *connection)
{
    delivery_end(&connection->delivery);
    reply_drop(&connection->protocol.reply);
}

/* Gives back all that the connection has, but for its descriptor. */
static void release(struct worker *worker, struct connection *connection)
{
    timers_cancel(&connection->timer);
    turns_remove(&worker->turns, &connection->turn);
    if (connection->log_entry)
        connection_log_reply(worker, connection);
    free(connection->log_entry);
    connection->log_entry = NULL;
    connection_drop_reply(connection);
    protocol_drop_input(&connection->protocol);
    count_open(worker, -1);
    connection->state = CLOSED;
    connection->next_free = worker->free_connections;
    worker->free_connections = connection;
}

void connection_close(struct worker *worker, struct connection *connection, enum close_reason reason)
{
    struct counters *counters = worker->counters;
    const int fd = connection->fd;

    if (connection->watched && worker->mechanism->remove_connection)
        worker->mechanism->remove_connection(worker->events, fd);
    /* In this order: if the process dies in between, nobody closes a descriptor that is somebody else's. */
    connection->fd = -1;
    if (worker->driver->close)
        worker->driver->close(worker, fd);
    else
        close(fd);
    release(worker, connection);
    counters->requests_aborted += connection->replying;
    counters->connections_closed_by_client += reason == CLOSED_BY_CLIENT;
    counters->connections_closed_by_server += reason == CLOSED_BY_SERVER;
    counters->connections_timed_out += reason == CLOSED_BY_TIMEOUT;
}

void connection_give_away(struct worker *worker, struct connection *connection)
{
    const int fd = connection->fd;

    /* Closing it is not enough: others hold the socket open, so the kernel would go on to report it. */
    if (connection->watched && worker->mechanism->remove_connection)
        worker->mechanism->remove_connection(worker->events, fd);
    else if (connection->watched)
        worker->mechanism->remove_listener(worker->events, fd);
    connection->fd = -1;
    close(fd);
    release(worker, connection);
    worker->counters->connections_forwarded++;
}

struct connection *connection_take(struct worker *worker, int fd, bool blocking)
{
    struct connection *connection = allocate(worker);

    if (connection) {
        connection->fd = fd;
        connection->delivery.blocking = blocking;
        connection->interest = EVENT_READABLE;
        connection->started_ns = worker->now_ns;
    }
    if (!connection || (worker->driver->open && !worker->driver->open(worker, connection))) {
        log_errno("no memory for a connection");
        if (connection) {
            connection->fd = -1;
            connection->next_free = worker->free_connections;
            worker->free_connections = connection;
        }
        close(fd);
        worker->counters->connections_closed_by_server++;
        return NULL;
    }
    count_open(worker, 1);
    timers_set(&worker->timers, &connection->timer, worker->now_ns + worker->request_timeout_ns);
    return connection;
}

struct connection *connection_open(struct worker *worker, int fd, bool blocking)
{
    worker->counters->connections_accepted++;
    return connection_take(worker, fd, blocking);
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
    if (!connection->watched) {
        connection->watched = worker->mechanism->add_connection(worker->events, connection->fd,
                                                                connection_tag(connection)) == 0;
        if (!connection->watched)
            log_errno("cannot watch a connection"); /* its timeout ends it */
    }
    if (interest == connection->interest || !connection->watched)
        return;
    connection->interest = interest;
    if (worker->mechanism->watch(worker->events, connection->fd, connection_tag(connection), interest) != 0)
        log_errno("cannot watch a connection"); /* its timeout ends it */
}

void connection_rearm(struct worker *worker, struct connection *connection)
{
    if (worker->mechanism && !connection->watched)
        connection_watch(worker, connection);
    else if (worker->mechanism && worker->mechanism->rearm)
        worker->mechanism->rearm(worker->events, connection->fd, connection_tag(connection),
                                 connection->interest);
}

size_t connection_receive(struct worker *worker, struct connection *connection, struct feed *feed)
{
    struct protocol *protocol = &connection->protocol;
    size_t room = INPUT_BYTES;
    char *into = protocol->input ? protocol_room(protocol, &room) : worker->input;
    ssize_t received;

    if (!into) {
        connection_close(worker, connection, CLOSED_BY_SERVER);
        return 0;
    }
    do
        received = recv(connection->fd, into, room, MSG_DONTWAIT);
    while (received < 0 && errno == EINTR);
    if (received < 0 && errno == EAGAIN) {
        connection->readable = false;
        return 0;
    }
    if (received <= 0) {
        connection_close(worker, connection, CLOSED_BY_CLIENT);
        return 0;
    }
    connection->readable = (size_t)received == room || connection->peer_closed;
    if (protocol->input) {
        protocol_filled(protocol, (size_t)received);
        protocol_feed_kept(protocol, feed);
    } else {
        protocol_feed(feed, worker->input, (size_t)received);
    }
    return (size_t)received;
}

void connection_discard(struct worker *worker, struct connection *connection)
{
    /* As much as one read takes per event: a peer that sends without end must not occupy the worker. */
    const ssize_t received = recv(connection->fd, worker->input, INPUT_BYTES, MSG_DONTWAIT);

    if (received == 0 || (received < 0 && errno != EAGAIN && errno != EINTR)) {
        connection_close(worker, connection, CLOSED_BY_SERVER);
    } else if (received == INPUT_BYTES || (received > 0 && connection->peer_closed)) {
        connection_rearm(worker, connection);
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
    connection_discard(worker, connection);
}

void connection_suspend(struct worker *worker, struct connection *connection)
{
    connection->state = WAITING;
    connection_watch(worker, connection);
    timers_set(&worker->timers, &connection->timer, worker->now_ns + worker->request_timeout_ns);
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
    if ((since == 0 || (double)since < least) && !(connection->state == SENDING && connection->turn.waits))
        return false;
    connection->progress = progress;
    timers_set(&worker->timers, &connection->timer, worker->now_ns + worker->request_timeout_ns);
    return true;
}
