/*
 * See answer.h.
 */
#include "httpd/connection/answer.h"

#include "httpd/connection/sending.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* Makes the reply about the file that was found. */
static void make_plain(struct worker *worker, struct connection *connection, const struct asking *asking)
{
    struct cached_file *file = connection->delivery.file;

    reply_make_file(&connection->protocol.reply, asking,
                    &(struct representation){
                        .presentation = &worker->config->presentation,
                        .path = file->path,
                        .coding = CODING_NONE,
                        .codings = file->codings,
                        .size = file->size,
                        .modified = file->modified,
                        .head = file->head,
                        .in_place = file_table_is_private(file),
                        .head_length = file->head_length,
                        .date_offset = file->date_offset,
                        .expires_offset = file->expires_offset,
                        .expires_s = file->expires_s,
                        .contents = file_table_contents(file),
                    });
    worker->counters->contents_hits += connection->protocol.reply.text_body > 0;
}

/* Puts the compressed file that the client likes best, of those that can be opened, in the place of the plain
 * one that was found. Returns its coding; CODING_NONE: the plain one stays. */
static enum coding choose_coding(struct worker *worker, struct connection *connection,
                                 const struct asking *asking)
{
    struct cached_file *plain = connection->delivery.file;
    unsigned left = plain->codings;
    char path[FILE_CACHE_PATH_MAX];
    struct cached_file *file;
    enum coding coding;

    while ((coding = coding_choose(asking->request, asking->data, left)) != CODING_NONE) {
        snprintf(path, sizeof(path), "%s%s", plain->path, CODINGS[coding].suffix);
        if (file_cache_get(worker->cache, path, &worker->date, &file) == HTTP_OK) {
            connection->delivery.file =
                file; /* first: should the process die now, nobody gives the other back twice */
            file_cache_release(plain);
            return coding;
        }
        left &= ~CODING_BIT(coding); /* it has gone, or is not for us to read */
    }
    return CODING_NONE;
}

/* Makes the reply about the file that is there also compressed. */
static void make_negotiated(struct worker *worker, struct connection *connection, const struct asking *asking)
{
    const enum coding coding = choose_coding(worker, connection, asking);
    const struct cached_file *file = connection->delivery.file;
    struct representation representation = {
        .presentation = &worker->config->presentation,
        .path = file->path,
        .coding = coding,
        .codings = CODING_BIT(coding),
        .size = file->size,
        .modified = file->modified,
    };
    char path[FILE_CACHE_PATH_MAX];

    if (coding == CODING_NONE) {
        make_plain(worker, connection, asking);
        return;
    }
    strcpy(path, file->path);
    path[strlen(path) - strlen(CODINGS[coding].suffix)] = '\0';
    representation.path = path;
    reply_make_file(&connection->protocol.reply, asking, &representation);
}

/* Makes the reply that is about a file, or that there is none. */
static void make_reply(struct worker *worker, struct connection *connection, const struct asking *asking)
{
    const struct request *request = asking->request;
    struct reply *reply = &connection->protocol.reply;
    char path[HOST_KEY_MAX]; /* or the key of one */
    enum http_status status = HTTP_OK;
    int root;

    if (request->status != 0) {
        reply_make_error(reply, asking, request->status, "");
        return;
    }
    if (!connection->delivery.file) { /* which answer_would_wait() may have found */
        const int length = hosts_key(&worker->config->hosts, request, asking->data, path);

        status = length < 0 ? (enum http_status) - length
                            : file_cache_get(worker->cache, path, &worker->date, &connection->delivery.file);
    }
    if (status == HTTP_OK && connection->delivery.file->codings != 0)
        make_negotiated(worker, connection, asking);
    else if (status == HTTP_OK)
        make_plain(worker, connection, asking);
    else if (status == HTTP_MOVED_PERMANENTLY)
        reply_make_redirect(reply, asking, hosts_locate(&worker->config->hosts, path, &root));
    else
        reply_make_error(reply, asking, status, "");
}

bool answer_would_wait(struct worker *worker, struct connection *connection, const struct request *request,
                       const char *data, uint8_t *asked, char wanted[FILE_CACHE_PATH_MAX])
{
    char path[HOST_KEY_MAX];

    return hosts_key(&worker->config->hosts, request, data, path) >= 0 &&
           file_cache_would_wait(worker->cache, path, &worker->date, asked, wanted,
                                 &connection->delivery.file);
}

void answer_request(struct worker *worker, struct connection *connection, const struct feed *feed)
{
    struct protocol *protocol = &connection->protocol;
    struct asking asking = {.request = &feed->request,
                            .data = feed->bytes,
                            .date = &worker->date,
                            .expires = &worker->expires,
                            .text = worker->text};

    worker->counters->requests++;
    connection->started_ns = worker->now_ns;
    connection->reading_head = false;
    connection->has_asked = true;
    connection->replying = true;
    protocol_accept(protocol, feed, !worker->shutting_down);
    asking.keep_alive = protocol->keep_alive;
    make_reply(worker, connection, &asking);
    if (worker->access_log)
        connection_log_request(worker, connection, asking.request, asking.data);
    sending_begin(worker, connection);
}

/* Sends an error, with `more` header lines, here and now. Returns false if the socket did not take it. */
static bool send_error(struct worker *worker, struct connection *connection, const struct asking *asking,
                       enum http_status status, const char *more)
{
    struct reply *reply = &connection->protocol.reply;

    worker->counters->requests++;
    reply_make_error(reply, asking, status, more);
    if (worker->access_log)
        connection_log_request(worker, connection, asking->request, asking->data);
    if (send(connection->fd, reply->text, reply->text_length, MSG_NOSIGNAL | MSG_DONTWAIT) !=
        (ssize_t)reply->text_length)
        return false;
    reply->text_sent = reply->text_length;
    worker->counters->bytes_sent += reply->text_length;
    ++*metrics_replies(worker->counters, status);
    return true;
}

void answer_refused(struct worker *worker, struct connection *connection, const struct feed *feed)
{
    const struct asking asking = {
        .request = &feed->request, .data = feed->bytes, .date = &worker->date, .text = worker->text};

    protocol_accept(&connection->protocol, feed, false);
    connection->replying =
        !send_error(worker, connection, &asking, HTTP_SERVICE_UNAVAILABLE, "Retry-After: 1\r\n");
    worker->counters->requests_refused++;
    connection_finish(worker, connection);
}

void answer_timeout(struct worker *worker, struct connection *connection)
{
    const struct request nothing = {.minor_version = 1};
    const struct asking asking = {.request = &nothing, .date = &worker->date, .text = worker->text};

    send_error(worker, connection, &asking, HTTP_REQUEST_TIMEOUT, "");
    shutdown(connection->fd, SHUT_WR);
}
