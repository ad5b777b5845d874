/*
 * See reply.h.
 */
#include "httpd/reply.h"

#include "common/clock.h"
#include "httpd/http/path.h"
#include "httpd/io/sendfile.h"
#include "httpd/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

void reply_drop(struct connection *connection)
{
    if (connection->file)
        file_cache_release(connection->file);
    free(connection->head);
    connection->file = NULL;
    connection->head = NULL;
    connection->offset = connection->end = 0;
}

static void finish_reply(struct worker *worker, struct connection *connection)
{
    worker->now_ns = clock_now_ns();
    histogram_record(worker->service_time, (worker->now_ns - connection->started_ns) / NS_PER_US);
    ++*metrics_replies(worker->counters, connection->status);
    reply_drop(connection);
    if (connection->keep_alive && !worker->shutting_down)
        connection->state = READING;
    else
        connection_finish(worker, connection);
}

/* Sends as much of `head` as the socket takes. Returns the number of bytes, or -1 with errno. */
static ssize_t send_head(struct counters *counters, const struct connection *connection, const char *head,
                         size_t length)
{
    /* MSG_MORE: the body follows at once, let both go out in the same segments. */
    const int more = connection->offset < connection->end ? MSG_MORE : 0;
    const ssize_t sent = send(connection->fd, head, length, MSG_NOSIGNAL | more);

    if (sent > 0)
        counters->bytes_sent += (uint64_t)sent;
    return sent;
}

/* Sends the part of the head that an earlier send left. Returns as sendfile_range() does. */
static enum send_outcome send_rest_of_head(struct counters *counters, struct connection *connection)
{
    while (connection->head && connection->head_sent < connection->head_length) {
        const ssize_t sent = send_head(counters, connection, connection->head + connection->head_sent,
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

enum send_outcome reply_send(struct connection *connection, struct counters *counters)
{
    const enum send_outcome outcome = send_rest_of_head(counters, connection);

    if (outcome != SEND_COMPLETE || connection->offset >= connection->end)
        return outcome;
    return sendfile_range(connection->fd, connection->blocking, connection->file->fd, &connection->offset,
                          connection->end, counters);
}

void reply_settle(struct worker *worker, struct connection *connection, enum send_outcome outcome)
{
    switch (outcome) {
    case SEND_COMPLETE:
        finish_reply(worker, connection);
        return;
    case SEND_BLOCKED:
        timers_set(&worker->timers, &connection->timer, worker->now_ns + worker->request_timeout_ns);
        connection_watch(worker, connection);
        return;
    case SEND_STALLED:
        connection_close(worker, connection, CLOSED_BY_TIMEOUT);
        return;
    case SEND_TRUNCATED:
        log_line("/%s became shorter while it was being sent: connection closed", connection->file->path);
        connection_close(worker, connection, CLOSED_BY_SERVER);
        return;
    case SEND_FAILED:
        connection_close(worker, connection, CLOSED_BY_CLIENT);
        return;
    }
}

void reply_continue(struct worker *worker, struct connection *connection)
{
    reply_settle(worker, connection, reply_send(connection, worker->counters));
}

/* Copies what has not been sent of a head, which lies in bytes that others use too. Returns false when there
 * is no memory. */
static bool keep_head(struct connection *connection, const char *head, size_t length)
{
    connection->head_sent = 0;
    connection->head_length = (uint32_t)length;
    connection->head = malloc(length);
    if (connection->head)
        memcpy(connection->head, head, length);
    return connection->head != NULL;
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
    sent = worker->hands_over_replies ? 0 : send_head(worker->counters, connection, head, length);
    if (sent != (ssize_t)length) {
        if (sent < 0 && errno != EAGAIN && errno != EINTR) {
            connection_close(worker, connection, CLOSED_BY_CLIENT);
            return;
        }
        if (sent < 0)
            sent = 0;
        if (!keep_head(connection, head + sent, length - (size_t)sent)) {
            connection_close(worker, connection, CLOSED_BY_SERVER);
            return;
        }
    }
    if (!worker->hands_over_replies)
        reply_continue(worker, connection);
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
    const size_t before = file->head_length - 2; /* the empty line comes behind the added header */
    char head[RESPONSE_HEAD_MAX + 64];

    connection->status = HTTP_OK;
    connection->file = file;
    connection->end = request->method == METHOD_HEAD ? 0 : (off_t)file->size;
    memcpy(head, file->head, before);
    memcpy(head + file->date_offset, worker->date.text, HTTP_DATE_LENGTH);
    memcpy(head + before, header, header_length);
    memcpy(head + before + header_length, "\r\n", 2);
    start_sending(worker, connection, head, before + header_length + 2);
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

void reply_begin(struct worker *worker, struct connection *connection, const struct request *request,
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

void reply_timeout(struct worker *worker, struct connection *connection)
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
