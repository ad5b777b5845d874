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
    const struct cached_file *file = connection->delivery.file;

    reply_make_file(&connection->protocol.reply, asking,
                    &(struct representation){
                        .presentation = &worker->config->presentation,
                        .path = file->path,
                        .coding = CODING_NONE,
                        .codings = file->codings,
                        .size = file->size,
                        .modified = file->modified,
                        .head = file->head,
                        .head_length = file->head_length,
                        .date_offset = file->date_offset,
                        .expires_offset = file->expires_offset,
                        .expires_s = file->expires_s,
                    });
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
    enum http_status status;
    int length, root;

    if (request->status != 0) {
        reply_make_error(reply, asking, request->status, "");
        return;
    }
    length = hosts_key(&worker->config->hosts, request, asking->data, path);
    status = length < 0 ? (enum http_status) - length
                        : file_cache_get(worker->cache, path, &worker->date, &connection->delivery.file);
    if (status == HTTP_OK && connection->delivery.file->codings != 0)
        make_negotiated(worker, connection, asking);
    else if (status == HTTP_OK)
        make_plain(worker, connection, asking);
    else if (status == HTTP_MOVED_PERMANENTLY)
        reply_make_redirect(reply, asking, hosts_locate(&worker->config->hosts, path, &root));
    else
        reply_make_error(reply, asking, status, "");
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
    protocol_accept(protocol, feed, !worker->shutting_down);
    asking.keep_alive = protocol->keep_alive;
    make_reply(worker, connection, &asking);
    if (worker->access_log)
        connection_log_request(worker, connection, asking.request, asking.data);
    sending_begin(worker, connection);
}

void answer_timeout(struct worker *worker, struct connection *connection)
{
    const struct request nothing = {.minor_version = 1};
    const struct asking asking = {.request = &nothing, .date = &worker->date, .text = worker->text};
    struct reply *reply = &connection->protocol.reply;

    worker->counters->requests++;
    reply_make_error(reply, &asking, HTTP_REQUEST_TIMEOUT, "");
    if (worker->access_log)
        connection_log_request(worker, connection, &nothing, NULL);
    if (send(connection->fd, reply->text, reply->text_length, MSG_NOSIGNAL | MSG_DONTWAIT) ==
        (ssize_t)reply->text_length) {
        worker->counters->bytes_sent += reply->text_length;
        worker->counters->replies_408++;
    } else {
        reply->body_bytes = 0; /* for the access log */
    }
    shutdown(connection->fd, SHUT_WR);
}
