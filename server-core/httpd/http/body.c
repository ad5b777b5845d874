/*
 * See body.h.
 */
#include "httpd/http/body.h"

void body_begin(struct body *body, uint32_t length)
{
    *body = (struct body){.bytes = length};
}

void body_begin_chunked(struct body *body)
{
    *body = (struct body){.in_chunks = true};
    chunks_begin(&body->chunks);
}

/* Reads over further bytes of a body whose length is known. */
static enum body_outcome skip_known(struct body *body, size_t length, size_t *used)
{
    const uint32_t left = body->bytes - body->taken;

    *used = length < left ? length : left;
    body->taken += (uint32_t)*used;
    return body->taken == body->bytes ? BODY_COMPLETE : BODY_INCOMPLETE;
}

/* Takes a step through a body in chunks. */
static enum body_outcome skip_chunks(struct body *body, const char *data, size_t length, size_t *used)
{
    const enum chunks_step step =
        chunks_take(&body->chunks, BODY_BYTES_MAX - body->bytes, data, length, used);

    body->taken += (uint32_t)*used;
    if (step == CHUNKS_CONTENTS) {
        body->bytes += (uint32_t)*used;
        return BODY_INCOMPLETE;
    }
    if (body->taken - body->bytes > BODY_BYTES_MAX || step == CHUNKS_TOO_LONG)
        return BODY_TOO_LARGE;
    if (step == CHUNKS_BROKEN)
        return BODY_BROKEN;
    return step == CHUNKS_COMPLETE ? BODY_COMPLETE : BODY_INCOMPLETE;
}

enum body_outcome body_skip(struct body *body, const char *data, size_t length, size_t *used)
{
    enum body_outcome outcome = BODY_INCOMPLETE;
    size_t taken;

    if (!body->in_chunks)
        return skip_known(body, length, used);
    for (*used = 0; outcome == BODY_INCOMPLETE && *used < length; *used += taken)
        outcome = skip_chunks(body, data + *used, length - *used, &taken);
    return outcome;
}
