/*
 * See delivery.h.
 */
#include "httpd/send/delivery.h"

#include "httpd/cache/contents.h"
#include "httpd/send/write.h"

#include <errno.h>
#include <sys/socket.h>

/* One pass over one reply. */
struct pass {
    struct delivery *delivery;
    struct reply *reply;
    int socket;
    off_t *checked; /* NULL: all of the file may be sent */
    struct counters *counters;
};

void delivery_begin(struct delivery *delivery, const struct reply *reply, int socket,
                    enum sendfile_mode sendfile, struct contents_cache *contents, struct counters *counters)
{
    delivery->begun = false;
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

/* Returns where this pass over the range of the file ends. A blocking call is to last to the end. */
static off_t end_of_pass(const struct pass *pass)
{
    const struct reply *reply = pass->reply;
    const off_t bytes = delivery_pass_bytes(pass->delivery);

    return pass->delivery->blocking || reply->end - reply->offset <= bytes ? reply->end
                                                                           : reply->offset + bytes;
}

/* Returns the contents if the reply is to be sent from memory and they are there; reads them if need be. */
static const char *contents_of(const struct pass *pass)
{
    const struct delivery *delivery = pass->delivery;

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

/* Sends the file up to `end`, or what of that may be sent without a further look. */
static enum send_outcome send_checked(const struct pass *pass, off_t end)
{
    struct reply *reply = pass->reply;
    const bool held = pass->checked && *pass->checked < end;
    enum send_outcome outcome;

    if (held)
        end = *pass->checked;
    if (reply->offset >= end)
        return SEND_HELD;
    outcome = sendfile_range(pass->socket, pass->delivery->blocking, pass->delivery->file->fd, &reply->offset,
                             end, pass->counters);
    return outcome == SEND_COMPLETE && held ? SEND_HELD : outcome;
}

/* Sends the file, from where it is, up to `end`. */
static enum send_outcome send_range(const struct pass *pass, off_t end)
{
    const struct delivery *delivery = pass->delivery;
    struct reply *reply = pass->reply;
    const bool more = reply_has_next_part(reply) || end < reply->end;
    const char *bytes;

    if (delivery->sendfile != SENDFILE_OFF)
        return send_checked(pass, end);
    bytes = contents_of(pass);
    if (bytes)
        return write_range(pass->socket, delivery->blocking, bytes, &reply->offset, end, more,
                           pass->counters);
    return write_file_range(pass->socket, delivery->blocking, delivery->file->fd, &reply->offset, end, more,
                            pass->counters);
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

enum send_outcome delivery_pass(struct delivery *delivery, struct reply *reply, int socket, off_t *checked,
                                struct counters *counters)
{
    const struct pass pass = {delivery, reply, socket, checked, counters};
    const uint64_t sent_before = counters->bytes_sent;
    enum send_outcome outcome = send_part(&pass);

    delivery->begun = true;
    while (outcome == SEND_COMPLETE && reply_has_next_part(reply)) {
        if (counters->bytes_sent - sent_before >= PASS_BYTES && !delivery->blocking)
            return SEND_PAUSED;
        if (!reply_next_part(reply))
            return SEND_FAILED;
        if (checked)
            *checked = reply->offset;
        outcome = send_part(&pass);
    }
    return outcome;
}
