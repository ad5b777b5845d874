/*
 * How connections come and go: their memory, and the socket from the moment it is ours to its close. What
 * happens in between is in connection.c.
 */
#include "httpd/connection/connection.h"

#include "httpd/connection/access_log.h"
#include "httpd/connection/sending.h"
#include "httpd/log.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
        worker->counters->access_log_dropped++;
}

void connection_log_reply(struct worker *worker, struct connection *connection)
{
    if (!access_log_end(worker->access_log, connection->log_entry, &connection->protocol.reply))
        worker->counters->access_log_dropped++;
}

/* Gives back all that the connection has, but for its descriptor. */
static void release(struct worker *worker, struct connection *connection)
{
    timers_cancel(&connection->timer);
    turns_remove(&worker->turns, connection);
    if (connection->log_entry)
        connection_log_reply(worker, connection);
    free(connection->log_entry);
    connection->log_entry = NULL;
    sending_drop(connection);
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

    if (worker->mechanism && worker->mechanism->remove_connection)
        worker->mechanism->remove_connection(worker->events, fd);
    /* In this order: if the process dies in between, nobody closes a descriptor that is somebody else's. */
    connection->fd = -1;
    if (worker->driver->close)
        worker->driver->close(worker, fd);
    else
        close(fd);
    release(worker, connection);
    counters->connections_closed_by_client += reason == CLOSED_BY_CLIENT;
    counters->connections_closed_by_server += reason == CLOSED_BY_SERVER;
    counters->connections_timed_out += reason == CLOSED_BY_TIMEOUT;
}

void connection_give_away(struct worker *worker, struct connection *connection)
{
    const int fd = connection->fd;

    /* Closing it is not enough: others hold the socket open, so the kernel would go on to report it. */
    if (worker->mechanism->remove_connection)
        worker->mechanism->remove_connection(worker->events, fd);
    else
        worker->mechanism->remove_listener(worker->events, fd);
    connection->fd = -1;
    close(fd);
    release(worker, connection);
    worker->counters->connections_forwarded++;
}

/* Has the connection reported when its first request comes. */
static bool begin_to_wait(struct worker *worker, struct connection *connection)
{
    if (worker->driver->open)
        return worker->driver->open(worker, connection);
    return worker->mechanism->add_connection(worker->events, connection->fd, connection_tag(connection)) == 0;
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
    if (!connection || !begin_to_wait(worker, connection)) {
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
