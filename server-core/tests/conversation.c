/*
 * See conversation.h.
 */
#include "tests/conversation.h"

#include "httpd/http/path.h"
#include "httpd/http/presentation.h"
#include "httpd/http/range.h"

#include <stdlib.h>
#include <string.h>

#define CHANGED 784111777 /* Sun, 06 Nov 1994 08:49:37 GMT */
#define NOW     1700000000

#define HEAD_AND_CONTENTS_MAX (RESPONSE_HEAD_MAX + 26)

/* Every file says the alphabet over and over. */
static char contents_at(off_t offset)
{
    return (char)('a' + offset % 26);
}

/* Describes the file at `path`. Returns the status that serves it. */
static enum http_status look_up(const char *path, char head[HEAD_AND_CONTENTS_MAX],
                                struct representation *representation)
{
    static const struct {
        const char *path;
        uint64_t size;
        bool kept; /* its contents are in memory */
    } files[] = {{"letters", 26, false}, {"long.html", 300, false}, {"kept", 26, true}};
    static struct presentation presentation;
    struct validators validators;

    if (!presentation.types)
        presentation.types = mime_types_create(NULL, NULL);
    if (strcmp(path, "directory") == 0)
        return HTTP_MOVED_PERMANENTLY;
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        if (strcmp(path, files[i].path) != 0)
            continue;
        *representation = (struct representation){.presentation = &presentation,
                                                  .coding = CODING_NONE,
                                                  .path = files[i].path,
                                                  .size = files[i].size,
                                                  .modified = {.tv_sec = CHANGED},
                                                  .head = head};
        validators_make(&validators, files[i].size, representation->modified, "");
        representation->head_length =
            response_file_head(head,
                               &(struct file_response){.status = HTTP_OK,
                                                       .type = mime_type(presentation.types, path),
                                                       .length = files[i].size,
                                                       .validators = &validators,
                                                       .now = validators.modified,
                                                       .more = ""},
                               &representation->date_offset);
        if (files[i].kept) {
            representation->contents = head + representation->head_length;
            for (uint64_t k = 0; k < files[i].size; k++)
                head[representation->head_length + k] = contents_at((off_t)k);
        }
        return HTTP_OK;
    }
    return HTTP_NOT_FOUND;
}

static void make_reply(struct conversation *conversation, const struct feed *feed)
{
    struct protocol *protocol = &conversation->protocol;
    const struct request *request = &feed->request;
    const struct asking asking = {
        .request = request,
        .data = feed->bytes,
        .date = &conversation->date,
        .expires = &conversation->expires,
        .keep_alive = protocol->keep_alive,
        .text = conversation->text,
    };
    struct representation representation;
    char path[PATH_BYTES_MAX], head[HEAD_AND_CONTENTS_MAX];
    int status = request->status;

    if (status == 0) {
        status = path_decode(feed->bytes + request->target_offset, request->target_length, path);
        status = status < 0 ? -status : (int)look_up(path, head, &representation);
    }
    if (status == HTTP_OK)
        reply_make_file(&protocol->reply, &asking, &representation);
    else if (status == HTTP_MOVED_PERMANENTLY)
        reply_make_redirect(&protocol->reply, &asking, path);
    else
        reply_make_error(&protocol->reply, &asking, (enum http_status)status, "");
}

static void say(struct conversation *conversation, char byte)
{
    if (conversation->length % 4096 == 0) {
        conversation->said = realloc(conversation->said, conversation->length + 4096);
        if (!conversation->said)
            abort();
    }
    conversation->said[conversation->length++] = byte;
}

/* Sends up to a step of the reply. Returns how many bytes. */
static size_t send_step(struct conversation *conversation)
{
    const struct reply *reply = &conversation->protocol.reply;
    size_t sent = 0;

    for (uint32_t i = reply->text_sent; sent < conversation->step && i < reply->text_length; i++, sent++)
        say(conversation, reply->text[i]);
    for (off_t i = reply->offset; sent < conversation->step && i < reply->end; i++, sent++)
        say(conversation, contents_at(i));
    return sent;
}

/* Puts B in the place of a boundary, which is another in every reply. */
static void mask(struct conversation *conversation, size_t from, const char *boundary)
{
    for (size_t i = from; i + MULTIPART_BOUNDARY_LENGTH <= conversation->length; i++) {
        if (memcmp(conversation->said + i, boundary, MULTIPART_BOUNDARY_LENGTH) == 0)
            memset(conversation->said + i, 'B', MULTIPART_BOUNDARY_LENGTH);
    }
}

/* Sends the reply under way to its end. */
static void send_reply(struct conversation *conversation)
{
    struct protocol *protocol = &conversation->protocol;
    const size_t from = conversation->length;
    enum reply_progress progress = REPLY_GOES_ON;
    char boundary[MULTIPART_BOUNDARY_LENGTH + 1] = "";

    if (protocol->reply.multipart)
        memcpy(boundary, protocol->reply.multipart->boundary, sizeof(boundary));
    while (progress == REPLY_GOES_ON)
        progress = reply_advance(&protocol->reply, send_step(conversation));
    if (*boundary)
        mask(conversation, from, boundary);
    if (reply_body_sent(&protocol->reply) != protocol->reply.body_bytes)
        abort(); /* all has been sent */
    reply_drop(&protocol->reply);
    conversation->over = !protocol->keep_alive;
}

/* Answers the requests in the feed as far as replies get out, and keeps what is left. */
static void serve(struct conversation *conversation, struct feed *feed)
{
    struct protocol *protocol = &conversation->protocol;

    while (!conversation->over && !conversation->sending && protocol_next(feed)) {
        protocol_accept(protocol, feed, true);
        make_reply(conversation, feed);
        if (conversation->blocked) {
            conversation->sending = true;
            if (!reply_own_text(&protocol->reply))
                abort();
        } else {
            send_reply(conversation);
        }
        protocol_step(feed);
    }
    if (conversation->over)
        protocol_forget(feed);
    else if (!protocol_keep(protocol, feed))
        abort();
}

void conversation_hear(struct conversation *conversation, const char *bytes, size_t length)
{
    struct protocol *protocol = &conversation->protocol;
    struct feed feed;

    if (conversation->over)
        return;
    http_date_update(&conversation->date, NOW);
    if (!protocol->input && !conversation->sending)
        protocol_feed(&feed, bytes, length);
    else if (!protocol_append(protocol, bytes, length))
        abort();
    else if (conversation->sending || !protocol_feed_kept(protocol, &feed))
        return;
    serve(conversation, &feed);
}

void conversation_go_on(struct conversation *conversation)
{
    struct feed feed;

    if (conversation->sending)
        send_reply(conversation);
    conversation->sending = false;
    if (protocol_feed_kept(&conversation->protocol, &feed))
        serve(conversation, &feed);
}

void conversation_end(struct conversation *conversation)
{
    protocol_drop_input(&conversation->protocol);
    reply_drop(&conversation->protocol.reply);
    free(conversation->said);
}
