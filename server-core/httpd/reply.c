/*
 * See reply.h.
 */
#include "httpd/reply.h"

#include "common/clock.h"
#include "httpd/access_log.h"
#include "httpd/contents.h"
#include "httpd/http/range.h"
#include "httpd/io/write.h"
#include "httpd/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

bool reply_own_head(struct connection *connection)
{
    const uint32_t left = connection->head_length - connection->head_sent;
    char *copy;

    if (connection->owns_head || left == 0)
        return true;
    copy = malloc(left);
    if (!copy)
        return false;
    memcpy(copy, connection->head + connection->head_sent, left);
    connection->head = copy;
    connection->head_sent = 0;
    connection->head_length = left;
    connection->owns_head = true;
    return true;
}

/* Lets go of the head. */
static void drop_head(struct connection *connection)
{
    if (connection->owns_head)
        free((char *)(uintptr_t)connection->head);
    connection->owns_head = false;
    connection->head = NULL;
    connection->head_sent = connection->head_length = 0;
}

void reply_drop(struct connection *connection)
{
    struct cached_file *file = connection->file;

    connection->file = NULL; /* first: should the process die now, nobody gives the file back twice */
    if (file)
        file_cache_release(file);
    if (connection->contents)
        contents_release(connection->contents);
    drop_head(connection);
    free(connection->multipart);
    connection->contents = NULL;
    connection->multipart = NULL;
    connection->offset = connection->end = 0;
}

static void finish_reply(struct worker *worker, struct connection *connection)
{
    worker->now_ns = clock_now_ns();
    histogram_record(worker->service_time, (worker->now_ns - connection->started_ns) / NS_PER_US);
    ++*metrics_replies(worker->counters, connection->status);
    access_log_end(worker, connection);
    reply_drop(connection);
    if (connection->keep_alive && !worker->closing_idle) /* if it only accepts no more: as it has said */
        connection->state = READING;
    else
        connection_finish(worker, connection);
}

/* Says whether a body of several parts has one that is not begun yet; the text behind the last counts. */
static bool has_next_part(const struct connection *connection)
{
    return connection->multipart && connection->multipart->next <= connection->multipart->count;
}

/* Returns the contents if the reply is to be sent from memory and they are there; reads them if need be. */
static const char *contents_of(const struct connection *connection, struct counters *counters)
{
    return connection->contents ? contents_load(connection->contents, connection->file->fd, counters) : NULL;
}

off_t reply_pass_bytes(const struct connection *connection)
{
    return connection->in_crowd && !connection->begun ? SHORT_PASS_BYTES : PASS_BYTES;
}

/* Returns where this pass over the range of the file ends. A blocking call is to last to the end. */
static off_t end_of_pass(const struct connection *connection)
{
    const off_t pass = reply_pass_bytes(connection);

    return connection->blocking || connection->end - connection->offset <= pass ? connection->end
                                                                                : connection->offset + pass;
}

/* Sends as much of the head as the socket takes, and contents that are in memory behind it. Returns the
 * number of bytes of the head, or -1 with errno. */
static ssize_t send_head(struct counters *counters, struct connection *connection)
{
    const char *head = connection->head + connection->head_sent;
    const size_t length = connection->head_length - connection->head_sent;
    const bool has_range = connection->offset < connection->end;
    const bool more = has_next_part(connection);
    ssize_t sent;

    if (has_range && connection->contents) {
        const char *bytes = contents_of(connection, counters);
        const off_t end = end_of_pass(connection);

        if (bytes)
            return write_head_and_range(connection->fd, head, length, bytes, &connection->offset, end,
                                        more || end < connection->end, counters);
    }
    /* MSG_MORE: the body follows at once, let both go out in the same segments. */
    sent = send(connection->fd, head, length, MSG_NOSIGNAL | (has_range || more ? MSG_MORE : 0));
    if (sent > 0)
        counters->bytes_sent += (uint64_t)sent;
    return sent;
}

/* Sends the part of the head that is left. Returns as sendfile_range() does. */
static enum send_outcome send_rest_of_head(struct counters *counters, struct connection *connection)
{
    while (connection->head_sent < connection->head_length) {
        const ssize_t sent = send_head(counters, connection);

        if (sent < 0 && errno == EAGAIN)
            return connection->blocking ? SEND_STALLED : SEND_BLOCKED;
        if (sent < 0 && errno != EINTR)
            return SEND_FAILED;
        if (sent > 0)
            connection->head_sent += (uint32_t)sent;
    }
    return SEND_COMPLETE;
}

/* Sends the file up to `end`, or what of that may be sent without a further look. */
static enum send_outcome send_checked(struct connection *connection, off_t end, const off_t *checked,
                                      struct counters *counters)
{
    const bool held = checked && *checked < end;
    enum send_outcome outcome;

    if (held)
        end = *checked;
    if (connection->offset >= end)
        return SEND_HELD;
    outcome = sendfile_range(connection->fd, connection->blocking, connection->file->fd, &connection->offset,
                             end, counters);
    return outcome == SEND_COMPLETE && held ? SEND_HELD : outcome;
}

/* Sends the file, from where it is, up to `end`. */
static enum send_outcome send_range(struct connection *connection, off_t end, const off_t *checked,
                                    struct counters *counters)
{
    const bool more = has_next_part(connection) || end < connection->end;
    const char *bytes;

    if (connection->sendfile != SENDFILE_OFF)
        return send_checked(connection, end, checked, counters);
    bytes = contents_of(connection, counters);
    if (bytes)
        return write_range(connection->fd, connection->blocking, bytes, &connection->offset, end, more,
                           counters);
    return write_file_range(connection->fd, connection->blocking, connection->file->fd, &connection->offset,
                            end, more, counters);
}

/* Sends what is left of the head or, in a body of several parts, of the text before a part; then the rest of
 * the range of the file, as far as this pass goes. */
static enum send_outcome send_part(struct connection *connection, const off_t *checked,
                                   struct counters *counters)
{
    enum send_outcome outcome = send_rest_of_head(counters, connection);

    if (outcome != SEND_COMPLETE || connection->offset >= connection->end)
        return outcome;
    outcome = send_range(connection, end_of_pass(connection), checked, counters);
    return outcome == SEND_COMPLETE && connection->offset < connection->end ? SEND_PAUSED : outcome;
}

/* Makes the next part what is to be sent. Returns false when there is no memory. */
static bool begin_next_part(struct connection *connection)
{
    struct multipart *multipart = connection->multipart;
    const unsigned index = multipart->next++;
    char text[MULTIPART_TEXT_MAX];

    drop_head(connection);
    connection->head_length = (uint32_t)multipart_text(multipart, index, text);
    connection->head = text;
    if (!reply_own_head(connection))
        return false;
    if (index < multipart->count) {
        connection->offset = (off_t)multipart->ranges[index].first;
        connection->end = (off_t)multipart->ranges[index].end;
    }
    return true;
}

enum send_outcome reply_send(struct connection *connection, off_t *checked, struct counters *counters)
{
    const uint64_t sent_before = counters->bytes_sent;
    enum send_outcome outcome = send_part(connection, checked, counters);

    connection->begun = true;
    while (outcome == SEND_COMPLETE && has_next_part(connection)) {
        if (counters->bytes_sent - sent_before >= PASS_BYTES && !connection->blocking)
            return SEND_PAUSED;
        if (!begin_next_part(connection))
            return SEND_FAILED;
        if (checked)
            *checked = connection->offset;
        outcome = send_part(connection, checked, counters);
    }
    return outcome;
}

enum send_outcome reply_advance(struct connection *connection, size_t sent, struct counters *counters)
{
    const size_t head_left = connection->head_length - connection->head_sent;
    const size_t of_head = sent < head_left ? sent : head_left;

    counters->bytes_sent += sent;
    connection->head_sent += (uint32_t)of_head;
    connection->offset += (off_t)(sent - of_head);
    if (of_head < head_left || connection->offset < connection->end)
        return SEND_BLOCKED;
    if (!has_next_part(connection))
        return SEND_COMPLETE;
    return begin_next_part(connection) ? SEND_BLOCKED : SEND_FAILED;
}

void reply_settle(struct worker *worker, struct connection *connection, enum send_outcome outcome)
{
    switch (outcome) {
    case SEND_COMPLETE:
        finish_reply(worker, connection);
        return;
    case SEND_BLOCKED:
        connection_pace(worker, connection);
        connection_watch(worker, connection);
        return;
    case SEND_PAUSED:
        connection_pace(worker, connection);
        turns_append(&worker->turns, connection);
        return;
    case SEND_HELD: /* it is WAITING */
    case SEND_ELSEWHERE:
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

enum send_outcome reply_leave_to_others(struct worker *worker, struct connection *connection)
{
    (void)worker;
    return reply_own_head(connection) ? SEND_ELSEWHERE : SEND_FAILED;
}

/* Has the driver send. */
static enum send_outcome send_pass(struct worker *worker, struct connection *connection)
{
    if (worker->driver->send)
        return worker->driver->send(worker, connection);
    return reply_send(connection, NULL, worker->counters);
}

void reply_continue(struct worker *worker, struct connection *connection)
{
    reply_settle(worker, connection, send_pass(worker, connection));
}

void reply_start(struct worker *worker, struct connection *connection, enum http_status status,
                 const char *head, size_t length)
{
    enum send_outcome outcome;

    connection->status = (uint16_t)status;
    connection->state = SENDING;
    connection->pacing = connection->begun = false;
    connection->in_crowd = worker->begun_bytes > CROWD_BYTES;
    worker->begun_bytes += (uint64_t)(connection->end - connection->offset);
    connection->sendfile = (uint8_t)worker->sendfile;
    if (worker->sendfile == SENDFILE_OFF && (connection->offset < connection->end || connection->multipart))
        connection->contents = contents_get(worker->contents, connection->file, worker->counters);
    if (connection->blocking != (worker->sendfile == SENDFILE_BLOCKING)) {
        connection->blocking = !connection->blocking;
        sendfile_set_blocking(connection->fd, connection->blocking);
    }
    connection->head = head;
    connection->head_sent = 0;
    connection->head_length = (uint32_t)length;
    outcome = send_pass(worker, connection);
    if (outcome != SEND_ELSEWHERE && !reply_own_head(connection))
        outcome = SEND_FAILED;
    reply_settle(worker, connection, outcome);
}

void reply_timeout(struct worker *worker, struct connection *connection)
{
    char reply[ERROR_REPLY_MAX];
    const size_t length = response_error(reply, HTTP_REQUEST_TIMEOUT, &worker->date, "",
                                         response_connection_header(false, 1), false);

    worker->counters->requests++;
    connection->status = HTTP_REQUEST_TIMEOUT;
    access_log_begin(worker, connection, &(struct request){0}, NULL, 0);
    if (send(connection->fd, reply, length, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)length) {
        worker->counters->bytes_sent += length;
        worker->counters->replies_408++;
    }
    shutdown(connection->fd, SHUT_WR);
}
