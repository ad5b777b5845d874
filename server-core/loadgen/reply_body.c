/*
 * See reply_body.h.
 */
#include "reply_body.h"

#include "asked.h"
#include "transport.h"

void reply_body_begin(struct connection *c)
{
    c->body_left = c->head.body_bytes;
    if (c->head.end == REPLY_ENDS_BY_CHUNKS) {
        c->body_left = REPLY_BODY_ENDLESS;
        chunks_begin(&c->chunks);
    }
}

bool reply_body_looked_at(const struct connection *c)
{
    return c->asked.verifying || c->head.end == REPLY_ENDS_BY_CHUNKS;
}

size_t reply_body_wanted(const struct connection *c)
{
    return reply_body_looked_at(c) && c->body_left >= RECEIVE_BYTES ? RECEIVE_BYTES : c->body_left + 1;
}

/* Compares the next bytes of the contents, which have `offset` bytes before them, if the reply is verified.
 */
static void look(const struct connections *all, struct connection *c, uint64_t offset, const char *data,
                 size_t length)
{
    asked_look(all, &c->asked, c->request, c->head.status, offset, data, length);
}

static enum reply_body take_chunks(const struct connections *all, struct connection *c, const char *data,
                                   size_t length)
{
    while (length > 0) {
        size_t used;
        enum chunks_step step = chunks_take(&c->chunks, REPLY_BODY_ENDLESS, data, length, &used);
        if (step == CHUNKS_CONTENTS) {
            look(all, c, c->head.body_bytes, data, used);
            c->head.body_bytes += used;
        } else if (step == CHUNKS_BROKEN || step == CHUNKS_TOO_LONG || c->chunks.framing > REPLY_HEAD_MAX) {
            return REPLY_BODY_BROKEN;
        } else if (step == CHUNKS_COMPLETE) {
            c->head.content_length = c->head.body_bytes;
            return used == length ? REPLY_BODY_COMPLETE : REPLY_BODY_EXCEEDED;
        }
        data += used;
        length -= used;
    }
    return REPLY_BODY_GOES_ON;
}

enum reply_body reply_body_take(const struct connections *all, struct connection *c, const char *data,
                                size_t length)
{
    if (c->head.end == REPLY_ENDS_BY_CHUNKS)
        return take_chunks(all, c, data, length);
    if (length > c->body_left)
        return REPLY_BODY_EXCEEDED;
    look(all, c, c->head.body_bytes - c->body_left, data, length);
    c->body_left -= length;
    return c->body_left > 0 ? REPLY_BODY_GOES_ON : REPLY_BODY_COMPLETE;
}

bool reply_body_close(const struct connections *all, struct connection *c)
{
    if (c->head.end != REPLY_ENDS_BY_CLOSE || !all->transport->said_farewell(c))
        return false;
    c->head.body_bytes -= c->body_left;
    c->head.content_length = c->head.body_bytes;
    return true;
}
