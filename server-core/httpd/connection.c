/*
 * See connection.h.
 */
#include "httpd/connection.h"

#include "common/clock.h"
#include "httpd/http/path.h"
#include "httpd/http/request.h"
#include "httpd/io/sendfile.h"
#include "httpd/log.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK_CONNECTIONS 64             /* allocated at once */
#define LINGER_NS         (1 * NS_PER_S) /* long enough for a round trip, short enough not to be a burden */
#define LEFTOVER_MIN      1024           /* bytes; doubled as needed */

enum connection_state { READING, SENDING, LINGERING, CLOSED };

enum close_reason { CLOSED_BY_CLIENT, CLOSED_BY_SERVER, CLOSED_BY_TIMEOUT };

/* Received bytes that could not be dealt with yet. */
struct leftover {
    struct request request; /* how far the first request in it has been parsed */
    uint32_t length, capacity;
    char bytes[];
};

struct connection {
    struct timer timer; /* runs as long as the connection is open */
    int fd;
    uint16_t status;   /* of the reply */
    uint8_t state;     /* enum connection_state */
    bool readable;     /* the socket may hold bytes that no read has shown to be the last */
    bool peer_closed;  /* and its end is known to come */
    bool writable_too; /* the event set watches for writability */
    bool blocking;     /* mode of the socket */
    bool keep_alive;   /* after the reply */
    bool linger;       /* if not: the peer may be sending what we shall not read */
    bool reading_head; /* the timer runs for a request head and not for idleness */
    struct leftover *leftover;

    /* The reply under way: the rest of its head, then the rest of its file. */
    char *head; /* a copy of our own, made only when a send did not take all of it */
    uint32_t head_sent, head_length;
    struct cached_file *file;
    off_t offset, end;
    uint64_t started_ns; /* when its request was complete */
    struct connection *next_free;
};

static struct connection *connection_of_timer(struct timer *timer)
{
    return (struct connection *)((char *)timer - offsetof(struct connection, timer));
}

static struct connection *allocate(struct worker *worker)
{
    struct connection *connection = worker->free_connections;

    if (!connection) {
        struct connection *chunk = calloc(CHUNK_CONNECTIONS, sizeof(*chunk));

        for (size_t i = 0; chunk && i < CHUNK_CONNECTIONS; i++) {
            chunk[i].next_free = worker->free_connections;
            worker->free_connections = &chunk[i];
        }
        connection = worker->free_connections;
    }
    if (connection) {
        worker->free_connections = connection->next_free;
        *connection = (struct connection){0};
    }
    return connection;
}

static void drop_reply(struct connection *connection)
{
    if (connection->file)
        file_cache_release(connection->file);
    free(connection->head);
    connection->file = NULL;
    connection->head = NULL;
    connection->offset = connection->end = 0;
}

static void drop_leftover(struct connection *connection)
{
    free(connection->leftover);
    connection->leftover = NULL;
}

/* Closes the socket and gives the structure back. It stays readable until the next connection is opened, so
 * callers further up see the state CLOSED. */
static void close_connection(struct worker *worker, struct connection *connection, enum close_reason reason)
{
    struct counters *counters = worker->counters;

    close(connection->fd);
    timers_cancel(&connection->timer);
    drop_reply(connection);
    drop_leftover(connection);
    counters->connections_open--;
    counters->connections_closed_by_client += reason == CLOSED_BY_CLIENT;
    counters->connections_closed_by_server += reason == CLOSED_BY_SERVER;
    counters->connections_timed_out += reason == CLOSED_BY_TIMEOUT;
    connection->state = CLOSED;
    connection->next_free = worker->free_connections;
    worker->free_connections = connection;
}

void connection_open(struct worker *worker, int fd, bool blocking)
{
    struct connection *connection = allocate(worker);

    worker->counters->connections_accepted++;
    if (!connection ||
        worker->mechanism->add_connection(worker->events, fd, connection_tag(connection)) != 0) {
        log_errno("no memory for a connection");
        if (connection) {
            connection->next_free = worker->free_connections;
            worker->free_connections = connection;
        }
        close(fd);
        worker->counters->connections_closed_by_server++;
        return;
    }
    worker->counters->connections_open++;
    connection->fd = fd;
    connection->blocking = blocking;
    timers_set(&worker->timers, &connection->timer, worker->now_ns + worker->request_timeout_ns);
}

/* Reads and forgets what the peer sends after the last reply. */
static void discard(struct worker *worker, struct connection *connection)
{
    /* As much as one read takes per event: a peer that sends without end must not occupy the worker. */
    const ssize_t received = recv(connection->fd, worker->input, INPUT_BYTES, MSG_DONTWAIT);

    if (received == 0 || (received < 0 && errno != EAGAIN && errno != EINTR)) {
        close_connection(worker, connection, CLOSED_BY_SERVER);
    } else if (received == INPUT_BYTES || (received > 0 && connection->peer_closed)) {
        worker->mechanism->rearm(worker->events, connection->fd, connection_tag(connection),
                                 connection->writable_too);
    }
}

/* Ends a connection whose last reply is out. */
static void finish_connection(struct worker *worker, struct connection *connection)
{
    if (!connection->linger && !connection->readable) {
        close_connection(worker, connection, CLOSED_BY_SERVER);
        return;
    }
    shutdown(connection->fd, SHUT_WR);
    drop_leftover(connection);
    connection->state = LINGERING;
    timers_set(&worker->timers, &connection->timer, worker->now_ns + LINGER_NS);
    discard(worker, connection);
}

static void finish_reply(struct worker *worker, struct connection *connection)
{
    worker->now_ns = clock_now_ns();
    histogram_record(worker->service_time, (worker->now_ns - connection->started_ns) / NS_PER_US);
    ++*metrics_replies(worker->counters, connection->status);
    drop_reply(connection);
    if (connection->keep_alive && !worker->shutting_down)
        connection->state = READING;
    else
        finish_connection(worker, connection);
}

/* Sends as much of `head` as the socket takes. Returns the number of bytes, or -1 with errno. */
static ssize_t send_head(struct worker *worker, struct connection *connection, const char *head,
                         size_t length)
{
    /* MSG_MORE: the body follows at once, let both go out in the same segments. */
    const int more = connection->offset < connection->end ? MSG_MORE : 0;
    const ssize_t sent = send(connection->fd, head, length, MSG_NOSIGNAL | more);

    if (sent > 0)
        worker->counters->bytes_sent += (uint64_t)sent;
    return sent;
}

/* Sends the part of the head that an earlier send left. Returns as sendfile_range() does. */
static enum send_outcome send_rest_of_head(struct worker *worker, struct connection *connection)
{
    while (connection->head && connection->head_sent < connection->head_length) {
        const ssize_t sent = send_head(worker, connection, connection->head + connection->head_sent,
                                       connection->head_length - connection->head_sent);

        if (sent < 0 && errno == EAGAIN)
            return connection->blocking ? SEND_STALLED : SEND_BLOCKED;
        if (sent < 0 && errno != EINTR)
            return SEND_FAILED;
        if (sent > 0)
            connection->head_sent += (uint32_t)sent;
    }
    return SEND_COMPLETE;
}

/* Sends on, as far as the socket lets us, and moves to the state that follows. */
static void send_on(struct worker *worker, struct connection *connection)
{
    enum send_outcome outcome = send_rest_of_head(worker, connection);

    if (outcome == SEND_COMPLETE && connection->offset < connection->end)
        outcome = sendfile_range(connection->fd, connection->blocking, connection->file->fd,
                                 &connection->offset, connection->end, worker->counters);
    switch (outcome) {
    case SEND_COMPLETE:
        finish_reply(worker, connection);
        return;
    case SEND_BLOCKED:
        timers_set(&worker->timers, &connection->timer, worker->now_ns + worker->request_timeout_ns);
        if (!connection->writable_too) {
            connection->writable_too = true;
            worker->mechanism->watch_writable(worker->events, connection->fd, connection_tag(connection));
        }
        return;
    case SEND_STALLED:
        close_connection(worker, connection, CLOSED_BY_TIMEOUT);
        return;
    case SEND_TRUNCATED:
        log_line("/%s became shorter while it was being sent: connection closed", connection->file->path);
        close_connection(worker, connection, CLOSED_BY_SERVER);
        return;
    case SEND_FAILED:
        close_connection(worker, connection, CLOSED_BY_CLIENT);
        return;
    }
}

/*
 * Begins a reply: `head`, then connection->file from offset to end if there is one. What the first send does
 * not take of the head is copied, for the caller's bytes are shared.
 */
static void start_sending(struct worker *worker, struct connection *connection, const char *head,
                          size_t length)
{
    ssize_t sent;

    connection->state = SENDING;
    if (connection->blocking != (worker->sendfile == SENDFILE_BLOCKING)) {
        connection->blocking = !connection->blocking;
        sendfile_set_blocking(connection->fd, connection->blocking);
    }
    sent = send_head(worker, connection, head, length);
    if (sent != (ssize_t)length) {
        if (sent < 0 && errno != EAGAIN && errno != EINTR) {
            close_connection(worker, connection, CLOSED_BY_CLIENT);
            return;
        }
        if (sent < 0)
            sent = 0;
        connection->head_sent = 0;
        connection->head_length = (uint32_t)(length - (size_t)sent);
        connection->head = malloc(connection->head_length);
        if (!connection->head) {
            close_connection(worker, connection, CLOSED_BY_SERVER);
            return;
        }
        memcpy(connection->head, head + sent, connection->head_length);
    }
    send_on(worker, connection);
}

/* Replies with an error or a redirect. */
static void reply_without_file(struct worker *worker, struct connection *connection,
                               const struct request *request, enum http_status status, const char *location)
{
    char reply[ERROR_REPLY_MAX];
    const char *header = response_connection_header(connection->keep_alive, request->minor_version);
    const size_t length =
        response_error(reply, status, &worker->date, location, header, request->method == METHOD_HEAD);

    connection->status = (uint16_t)status;
    start_sending(worker, connection, reply, length);
}

static void reply_with_file(struct worker *worker, struct connection *connection,
                            const struct request *request, struct cached_file *file)
{
    const char *header = response_connection_header(connection->keep_alive, request->minor_version);
    const size_t header_length = strlen(header);

    connection->status = HTTP_OK;
    connection->file = file;
    connection->end = request->method == METHOD_HEAD ? 0 : (off_t)file->size;
    if (header_length == 0) {
        start_sending(worker, connection, file->head, file->head_length);
    } else {
        char head[RESPONSE_HEAD_MAX + 64];
        const size_t before = file->head_length - 2; /* the empty line comes behind the added header */

        memcpy(head, file->head, before);
        memcpy(head + before, header, header_length);
        memcpy(head + before + header_length, "\r\n", 2);
        start_sending(worker, connection, head, before + header_length + 2);
    }
}

/* Redirects from a directory without trailing slash to the same with one; relative links would break else. */
static void reply_redirect(struct worker *worker, struct connection *connection,
                           const struct request *request, const char *path, const char *target)
{
    const char *query = memchr(target, '?', request->target_length);
    const size_t query_length = query ? request->target_length - (size_t)(query - target) : 0;
    char location[LOCATION_MAX];

    if (!path_encode(path, location, sizeof(location) - query_length - 1)) {
        reply_without_file(worker, connection, request, HTTP_URI_TOO_LONG, NULL);
        return;
    }
    snprintf(location + strlen(location), query_length + 2, "/%.*s", (int)query_length, query ? query : "");
    reply_without_file(worker, connection, request, HTTP_MOVED_PERMANENTLY, location);
}

/* Replies to a request whose head begins at `data`. */
static void reply(struct worker *worker, struct connection *connection, const struct request *request,
                  const char *data)
{
    const char *target = data + request->target_offset;
    char path[PATH_BYTES_MAX];
    struct cached_file *file;
    enum http_status status;
    int length;

    worker->counters->requests++;
    connection->started_ns = worker->now_ns;
    connection->reading_head = false;
    connection->keep_alive = request->keep_alive && !worker->shutting_down;
    connection->linger = request->status != 0 && !request->keep_alive;
    if (request->status != 0) {
        reply_without_file(worker, connection, request, request->status, NULL);
        return;
    }
    length = path_decode(target, request->target_length, path);
    status =
        length < 0 ? (enum http_status) - length : file_cache_get(worker->cache, path, &worker->date, &file);
    if (status == HTTP_OK)
        reply_with_file(worker, connection, request, file);
    else if (status == HTTP_MOVED_PERMANENTLY)
        reply_redirect(worker, connection, request, path, target);
    else
        reply_without_file(worker, connection, request, status, NULL);
}

/* Serves the complete requests in `data` until one cannot be answered at once. Returns how many bytes are
 * dealt with. `request` is the state of the first and becomes that of the first one left. */
static size_t serve(struct worker *worker, struct connection *connection, struct request *request,
                    const char *data, size_t length)
{
    size_t served = 0;

    while (connection->state == READING && served < length &&
           request_parse(request, data + served, length - served)) {
        reply(worker, connection, request, data + served);
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

/* Serves bytes in the worker's buffer and keeps what is left of them. */
static void serve_input(struct worker *worker, struct connection *connection, size_t length)
{
    struct request request = {0};
    const size_t served = serve(worker, connection, &request, worker->input, length);

    if (served == length || connection->state == LINGERING || connection->state == CLOSED)
        return;
    if (!reserve_leftover(connection, length - served)) {
        close_connection(worker, connection, CLOSED_BY_SERVER);
        return;
    }
    memcpy(connection->leftover->bytes, worker->input + served, length - served);
    connection->leftover->length = (uint32_t)(length - served);
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
            worker->mechanism->rearm(worker->events, connection->fd, connection_tag(connection),
                                     connection->writable_too);
            return;
        }
        if (connection->leftover) {
            if (!reserve_leftover(connection, LEFTOVER_MIN)) {
                close_connection(worker, connection, CLOSED_BY_SERVER);
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
            close_connection(worker, connection, CLOSED_BY_CLIENT);
            return;
        }
        total += (size_t)received;
        connection->readable = (size_t)received == room || connection->peer_closed;
        if (connection->leftover) {
            connection->leftover->length += (uint32_t)received;
            serve_leftover(worker, connection);
        } else {
            serve_input(worker, connection, (size_t)received);
        }
    }
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
        timers_set(&worker->timers, &connection->timer, worker->now_ns + worker->request_timeout_ns);
    }
}

void connection_run(struct worker *worker, struct connection *connection, uint32_t event_flags)
{
    if (event_flags & (EVENT_READABLE | EVENT_PEER_CLOSED))
        connection->readable = true;
    if (event_flags & EVENT_PEER_CLOSED)
        connection->peer_closed = true;

    if (connection->state == LINGERING) {
        discard(worker, connection);
        return;
    }
    if (connection->state == SENDING) {
        send_on(worker, connection);
        if (connection->state == READING)
            serve_leftover(worker, connection);
    }
    receive(worker, connection);
    if (connection->state == READING)
        await_request(worker, connection);
}

/* Tells the peer that its request took too long (RFC 9110 §15.5.9), without waiting for anything. */
static void reply_timeout(struct worker *worker, struct connection *connection)
{
    char reply[ERROR_REPLY_MAX];
    const size_t length = response_error(reply, HTTP_REQUEST_TIMEOUT, &worker->date, NULL,
                                         response_connection_header(false, 1), false);

    worker->counters->requests++;
    if (send(connection->fd, reply, length, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)length) {
        worker->counters->bytes_sent += length;
        worker->counters->replies_408++;
    }
    shutdown(connection->fd, SHUT_WR);
}

void connection_expired(void *user, struct timer *timer)
{
    struct worker *worker = user;
    struct connection *connection = connection_of_timer(timer);

    if (connection->state == LINGERING) {
        close_connection(worker, connection, CLOSED_BY_SERVER);
        return;
    }
    if (connection->state == READING && connection->leftover)
        reply_timeout(worker, connection);
    close_connection(worker, connection, CLOSED_BY_TIMEOUT);
}

void connection_retire(void *user, struct timer *timer)
{
    struct worker *worker = user;
    struct connection *connection = connection_of_timer(timer);

    if (connection->state != READING)
        return;
    connection->readable = true;
    receive(worker, connection);
    if (connection->state == READING && !connection->leftover)
        close_connection(worker, connection, CLOSED_BY_SERVER);
}
