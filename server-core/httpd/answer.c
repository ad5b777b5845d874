/*
 * What is said to a request: an error, a redirect, a file, some ranges of it, or that it has not changed.
 * Getting it out is the matter of reply.c.
 */
#include "httpd/access_log.h"
#include "httpd/http/conditions.h"
#include "httpd/http/mime.h"
#include "httpd/http/path.h"
#include "httpd/http/range.h"
#include "httpd/reply.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Replies with an error or a redirect; `more` is a further header line or "". */
static void answer_without_file(struct worker *worker, struct connection *connection,
                                const struct request *request, const char *data, enum http_status status,
                                const char *more)
{
    char reply[ERROR_REPLY_MAX];
    const char *header = response_connection_header(connection->keep_alive, request->minor_version);
    const size_t length =
        response_error(reply, status, &worker->date, more, header, request->method == METHOD_HEAD);
    const char *body = strstr(reply, "\r\n\r\n") + 4;

    access_log_begin(worker, connection, request, data, length - (size_t)(body - reply));
    reply_start(worker, connection, status, reply, length);
}

/* Replies with the whole file; its head lies finished in the cache. */
static void answer_whole(struct worker *worker, struct connection *connection, const struct request *request,
                         const char *data)
{
    const struct cached_file *file = connection->file;
    const char *header = response_connection_header(connection->keep_alive, request->minor_version);
    const size_t header_length = strlen(header);
    const size_t before = file->head_length - 2; /* the empty line comes behind the added header */
    char head[RESPONSE_HEAD_MAX + 64];

    connection->end = request->method == METHOD_HEAD ? 0 : (off_t)file->size;
    memcpy(head, file->head, before);
    memcpy(head + file->date_offset, worker->date.text, HTTP_DATE_LENGTH);
    memcpy(head + before, header, header_length);
    memcpy(head + before + header_length, "\r\n", 2);
    access_log_begin(worker, connection, request, data, (uint64_t)connection->end);
    reply_start(worker, connection, HTTP_OK, head, before + header_length + 2);
}

/* Replies with a head made for this occasion. */
static void answer_with_head(struct worker *worker, struct connection *connection,
                             const struct request *request, const char *data, struct file_response *response)
{
    char head[RESPONSE_HEAD_MAX];
    size_t date_offset;
    size_t length;

    response->date = worker->date.text;
    length = response_file_head(head, response, &date_offset);
    access_log_begin(worker, connection, request, data, response->length);
    reply_start(worker, connection, response->status, head, length);
}

static void answer_one_range(struct worker *worker, struct connection *connection,
                             const struct request *request, const char *data, const char *header,
                             const struct validators *validators, struct byte_range range)
{
    const struct cached_file *file = connection->file;
    char more[160];

    snprintf(more, sizeof(more), "Content-Range: bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64 "\r\n%s",
             range.first, range.end - 1, file->size, header);
    connection->offset = (off_t)range.first;
    connection->end = (off_t)range.end;
    answer_with_head(worker, connection, request, data,
                     &(struct file_response){.status = HTTP_PARTIAL_CONTENT,
                                             .type = mime_type(file->path),
                                             .length = range.end - range.first,
                                             .validators = validators,
                                             .more = more});
}

/* Replies with several ranges. Returns false when there is no memory. */
static bool answer_ranges(struct worker *worker, struct connection *connection, const struct request *request,
                          const char *data, const char *header, const struct validators *validators,
                          const struct byte_range *ranges, unsigned count)
{
    struct multipart *multipart = malloc(sizeof(*multipart));
    char type[64];

    if (!multipart)
        return false;
    multipart->count = count;
    multipart->size = connection->file->size;
    multipart->type = mime_type(connection->file->path);
    memcpy(multipart->ranges, ranges, count * sizeof(*ranges));
    multipart_begin(multipart);
    connection->multipart = multipart;
    snprintf(type, sizeof(type), "multipart/byteranges; boundary=%s", multipart->boundary);
    answer_with_head(worker, connection, request, data,
                     &(struct file_response){.status = HTTP_PARTIAL_CONTENT,
                                             .type = type,
                                             .length = multipart_length(multipart),
                                             .validators = validators,
                                             .more = header});
    return true;
}

/* Replies to a request that has preconditions or asks for ranges. */
static void answer_conditional(struct worker *worker, struct connection *connection,
                               const struct request *request, const char *data)
{
    const char *header = response_connection_header(connection->keep_alive, request->minor_version);
    struct byte_range ranges[RANGES_MAX];
    struct validators validators;
    enum range_outcome outcome = RANGE_WHOLE;
    enum http_status status;
    const char *range;
    size_t range_length;
    unsigned count;
    char more[64];

    validators_make(&validators, connection->file->size, connection->file->modified);
    status = conditions_evaluate(request, data, &validators, worker->date.second, &range, &range_length);
    if (status == HTTP_NOT_MODIFIED) {
        answer_with_head(
            worker, connection, request, data,
            &(struct file_response){.status = status, .validators = &validators, .more = header});
        return;
    }
    if (status != HTTP_OK) {
        answer_without_file(worker, connection, request, data, status, "");
        return;
    }
    if (range)
        outcome = range_parse(range, range_length, connection->file->size, ranges, &count);
    if (outcome == RANGE_UNSATISFIABLE) {
        snprintf(more, sizeof(more), "Content-Range: bytes */%" PRIu64 "\r\n", connection->file->size);
        answer_without_file(worker, connection, request, data, HTTP_RANGE_NOT_SATISFIABLE, more);
    } else if (outcome == RANGE_PARTS && count == 1) {
        answer_one_range(worker, connection, request, data, header, &validators, ranges[0]);
    } else if (outcome != RANGE_PARTS ||
               !answer_ranges(worker, connection, request, data, header, &validators, ranges, count)) {
        answer_whole(worker, connection, request, data); /* which a server may always do (RFC 9110 §14.2) */
    }
}

/* Redirects from a directory without trailing slash to the same with one; relative links would break else. */
static void answer_redirect(struct worker *worker, struct connection *connection,
                            const struct request *request, const char *data, const char *path)
{
    const char *target = data + request->target_offset;
    const char *query = memchr(target, '?', request->target_length);
    const size_t query_length = query ? request->target_length - (size_t)(query - target) : 0;
    char location[LOCATION_MAX];
    char more[HEADER_LINE_MAX];

    if (!path_encode(path, location, sizeof(location) - query_length - 1)) {
        answer_without_file(worker, connection, request, data, HTTP_URI_TOO_LONG, "");
        return;
    }
    snprintf(more, sizeof(more), "Location: %s/%.*s\r\n", location, (int)query_length, query ? query : "");
    answer_without_file(worker, connection, request, data, HTTP_MOVED_PERMANENTLY, more);
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
    connection->linger |= request->more_comes;
    if (request->status != 0) {
        answer_without_file(worker, connection, request, data, request->status, "");
        return;
    }
    length = path_decode(target, request->target_length, path);
    status =
        length < 0 ? (enum http_status) - length : file_cache_get(worker->cache, path, &worker->date, &file);
    if (status == HTTP_OK) {
        connection->file = file;
        if (request->conditional)
            answer_conditional(worker, connection, request, data);
        else
            answer_whole(worker, connection, request, data);
    } else if (status == HTTP_MOVED_PERMANENTLY) {
        answer_redirect(worker, connection, request, data, path);
    } else {
        answer_without_file(worker, connection, request, data, status, "");
    }
}
