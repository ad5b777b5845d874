/*
 * See delivery.h.
 */
#include "httpd/send/delivery.h"

#include "httpd/cache/contents.h"
#include "httpd/cache/residency.h"
#include "httpd/send/write.h"

#include <errno.h>
#include <sys/socket.h>

/* One pass over one reply. */
struct pass {
    struct delivery *delivery;
    struct reply *reply;
    int socket;
    bool resident; /* only what is known to be in memory may be sent of the file */
    struct counters *counters;
};

void delivery_begin(struct delivery *delivery, const struct reply *reply, int socket,
                    enum sendfile_mode sendfile, struct contents_cache *contents, struct counters *counters)
{
    delivery->begun = false;
    delivery->checked = reply->offset;
    delivery->sendfile = (uint8_t)sendfile;
    if (sendfile == SENDFILE_OFF && (reply->offset < reply->end || reply->multipart))
        delivery->contents = contents_get(contents, delivery->file, counters);
    if (delivery->blocking != (sendfile == SENDFILE_BLOCKING)) {
        delivery->blocking = !delivery->blocking;
        sendfile_set_blocking(socket, delivery->blocking);
    }
}

void delivery_end(struct delivery *delivery)
{
    struct cached_file *file = delivery->file;

    delivery->file = NULL; /* first: should the process die now, nobody gives the file back twice */
    if (file)
        file_cache_release(file);
    if (delivery->contents)
        contents_release(delivery->contents);
    delivery->contents = NULL;
}

off_t delivery_pass_bytes(const struct delivery *delivery)
{
    return delivery->in_crowd && !delivery->begun ? SHORT_PASS_BYTES : PASS_BYTES;
}

bool delivery_is_in_memory(const struct delivery *delivery, const struct reply *reply)
{
    return (reply->offset >= reply->end && !reply_has_next_part(reply)) ||
           (delivery->contents && contents_are_loaded(delivery->contents));
}

/* Returns where `bytes` more of the range of the file end. */
static off_t end_of(const struct reply *reply, off_t bytes)
{
    return reply->end - reply->offset < bytes ? reply->end : reply->offset + bytes;
}

off_t delivery_window(const struct reply *reply)
{
    return end_of(reply, WINDOW_BYTES);
}

/* Returns where this pass over the range of the file ends. A blocking call is to last to the end. */
static off_t end_of_pass(const struct pass *pass)
{
    return pass->delivery->blocking ? pass->reply->end
                                    : end_of(pass->reply, delivery_pass_bytes(pass->delivery));
}

/* Returns the contents if the reply is to be sent from memory and they are there; reads them if need be,
 * unless nobody may wait for that. */
static const char *contents_of(const struct pass *pass)
{
    const struct delivery *delivery = pass->delivery;

    if (pass->resident && delivery->contents && !contents_are_loaded(delivery->contents))
        return NULL;
    return delivery->contents ? contents_load(delivery->contents, delivery->file->fd, pass->counters) : NULL;
}

/* Sends as much of the text as the socket takes, and contents that are in memory behind it. Returns the
 * number of bytes of the text, or -1 with errno. */
static ssize_t send_text(const struct pass *pass)
{
    struct reply *reply = pass->reply;
    const char *text = reply->text + reply->text_sent;
    const size_t length = reply->text_length - reply->text_sent;
    const bool has_range = reply->offset < reply->end;
    const bool more = reply_has_next_part(reply);
    const char *bytes = has_range ? contents_of(pass) : NULL;
    ssize_t sent;

    if (bytes) {
        const off_t end = end_of_pass(pass);

        return write_head_and_range(pass->socket, text, length, bytes, &reply->offset, end,
                                    more || end < reply->end, pass->counters);
    }
    /* MSG_MORE: the body follows at once, let both go out in the same segments. */
    sent = send(pass->socket, text, length, MSG_NOSIGNAL | (has_range || more ? MSG_MORE : 0));
    if (sent > 0)
        pass->counters->bytes_sent += (uint64_t)sent;
    return sent;
}

/* Sends what is left of the text. */
static enum send_outcome send_whole_text(const struct pass *pass)
{
    struct reply *reply = pass->reply;

    while (reply->text_sent < reply->text_length) {
        const ssize_t sent = send_text(pass);

        if (sent < 0 && errno == EAGAIN)
            return pass->delivery->blocking ? SEND_STALLED : SEND_BLOCKED;
        if (sent < 0 && errno != EINTR)
            return SEND_FAILED;
        if (sent > 0)
            reply->text_sent += (uint32_t)sent;
    }
    return SEND_COMPLETE;
}

/* Sends the file, from where it is, up to `end`, or what of that may be sent without a further look. */
static enum send_outcome send_range(const struct pass *pass, off_t end)
{
    const struct delivery *delivery = pass->delivery;
    struct reply *reply = pass->reply;
    const bool more = reply_has_next_part(reply) || end < reply->end;
    const bool blocking = delivery->blocking;
    const char *bytes = contents_of(pass);
    const bool held = !bytes && pass->resident && delivery->checked < end;
    enum send_outcome outcome;

    if (held)
        end = delivery->checked;
    if (reply->offset >= end)
        return SEND_HELD;
    if (bytes)
        outcome = write_range(pass->socket, blocking, bytes, &reply->offset, end, more, pass->counters);
    else if (delivery->sendfile == SENDFILE_OFF)
        outcome = write_file_range(pass->socket, blocking, delivery->file->fd, &reply->offset, end, more,
                                   pass->counters);
    else
        outcome =
            sendfile_range(pass->socket, blocking, delivery->file->fd, &reply->offset, end, pass->counters);
    return outcome == SEND_COMPLETE && held ? SEND_HELD : outcome;
}

/* Sends what is left of the text and then of the range of the file, as far as this pass goes. */
static enum send_outcome send_part(const struct pass *pass)
{
    const struct reply *reply = pass->reply;
    enum send_outcome outcome = send_whole_text(pass);

    if (outcome != SEND_COMPLETE || reply->offset >= reply->end)
        return outcome;
    outcome = send_range(pass, end_of_pass(pass));
    return outcome == SEND_COMPLETE && reply->offset < reply->end ? SEND_PAUSED : outcome;
}

/* Sends part after part, as far as this pass goes; `sent_before` had been counted when it began. */
static enum send_outcome send_parts(const struct pass *pass, uint64_t sent_before)
{
    struct delivery *delivery = pass->delivery;
    enum send_outcome outcome = send_part(pass);

    while (outcome == SEND_COMPLETE && reply_has_next_part(pass->reply)) {
        if (pass->counters->bytes_sent - sent_before >= PASS_BYTES && !delivery->blocking)
            return SEND_PAUSED;
        if (!reply_next_part(pass->reply))
            return SEND_FAILED;
        delivery->checked = pass->reply->offset;
        outcome = send_part(pass);
    }
    return outcome;
}

enum send_outcome delivery_pass(struct delivery *delivery, struct reply *reply, int socket,
                                struct counters *counters)
{
    const struct pass pass = {delivery, reply, socket, false, counters};
    const enum send_outcome outcome = send_parts(&pass, counters->bytes_sent);

    delivery->begun = true;
    return outcome;
}

/* Looks whether what is to be sent next is in memory: as much as a pass, or else a window. */
static bool look(const struct pass *pass)
{
    const struct reply *reply = pass->reply;
    const off_t ends[] = {end_of(reply, delivery_pass_bytes(pass->delivery)), delivery_window(reply)};

    for (int i = 0; i < 2; i++) {
        if (residency_check(pass->delivery->file->fd, reply->offset, ends[i])) {
            pass->delivery->checked = ends[i];
            return true;
        }
    }
    return false;
}

enum send_outcome delivery_pass_resident(struct delivery *delivery, struct reply *reply, int socket,
                                         struct counters *counters)
{
    const struct pass pass = {delivery, reply, socket, true, counters};
    const uint64_t sent_before = counters->bytes_sent;
    enum send_outcome outcome = send_parts(&pass, sent_before);

    while (outcome == SEND_HELD) {
        if (counters->bytes_sent - sent_before >= (uint64_t)delivery_pass_bytes(delivery) &&
            !delivery->blocking)
            outcome = SEND_PAUSED;
        else if (look(&pass))
            outcome = send_parts(&pass, sent_before);
        else
            break;
    }
    delivery->begun = true;
    return outcome;
}
