/*
 * See body.h.
 */
#include "httpd/http/body.h"

#include "httpd/http/text.h"

#include <stdbool.h>

/* What comes next. */
enum {
    PLAIN, /* bytes of a body whose length is known */
    SIZE_FIRST,
    SIZE, /* a further digit, or the end of the size */
    EXTENSION,
    SIZE_END, /* the line feed */
    CHUNK,
    CHUNK_CR,
    CHUNK_END,
    TRAILER_FIRST, /* of a line behind the last chunk, or the CR of the empty line that ends the body */
    TRAILER,
    TRAILER_END,
    LAST_END,
};

void body_begin(struct body *body, uint64_t length)
{
    *body = (struct body){.left = length, .state = PLAIN};
}

void body_begin_chunked(struct body *body)
{
    *body = (struct body){.state = SIZE_FIRST};
}

/* Says whether a line may hold the byte: no control but the tab. */
static bool is_text(char byte)
{
    return byte == '\t' || ((unsigned char)byte >= ' ' && byte != 0x7F);
}

/* Takes a byte of the size of a chunk. */
static enum body_outcome take_size(struct body *body, char byte)
{
    const int digit = text_hex_value(byte);

    if (digit >= 0) {
        body->state = SIZE;
        body->left = body->left * 16 + (unsigned)digit;
        return body->left > BODY_BYTES_MAX - body->bytes ? BODY_TOO_LARGE : BODY_INCOMPLETE;
    }
    if (body->state == SIZE_FIRST)
        return BODY_BROKEN;
    if (byte == '\r')
        body->state = SIZE_END;
    else if (byte == ';' || byte == ' ' || byte == '\t')
        body->state = EXTENSION;
    else
        return BODY_BROKEN;
    return BODY_INCOMPLETE;
}

/* Takes a byte of a line of text, which goes on with state `end` when its CR has come. */
static enum body_outcome take_text(struct body *body, char byte, uint8_t end)
{
    if (byte == '\r')
        body->state = end;
    else if (!is_text(byte))
        return BODY_BROKEN;
    return BODY_INCOMPLETE;
}

/* Takes a byte that must be `wanted`; `next` follows. */
static enum body_outcome take_mark(struct body *body, char byte, char wanted, uint8_t next)
{
    body->state = next;
    return byte == wanted ? BODY_INCOMPLETE : BODY_BROKEN;
}

/* Takes a byte of the framing. */
static enum body_outcome take(struct body *body, char byte)
{
    switch (body->state) {
    case SIZE_FIRST:
    case SIZE:
        return take_size(body, byte);
    case EXTENSION:
        return take_text(body, byte, SIZE_END);
    case SIZE_END:
        return take_mark(body, byte, '\n', body->left > 0 ? CHUNK : TRAILER_FIRST);
    case CHUNK_CR:
        return take_mark(body, byte, '\r', CHUNK_END);
    case CHUNK_END:
        return take_mark(body, byte, '\n', SIZE_FIRST);
    case TRAILER_FIRST:
        if (byte == ' ' || byte == '\t' || byte == ':')
            return BODY_BROKEN;
        body->state = TRAILER;
        return take_text(body, byte, LAST_END);
    case TRAILER:
        return take_text(body, byte, TRAILER_END);
    case TRAILER_END:
        return take_mark(body, byte, '\n', TRAILER_FIRST);
    case LAST_END:
        return byte == '\n' ? BODY_COMPLETE : BODY_BROKEN;
    default:
        return BODY_BROKEN;
    }
}

/* Reads over bytes that mean nothing. Returns how many. */
static size_t skip(struct body *body, size_t length)
{
    const size_t count = length < body->left ? length : (size_t)body->left;

    body->left -= count;
    body->bytes += (uint32_t)count;
    if (body->left == 0 && body->state == CHUNK)
        body->state = CHUNK_CR;
    return count;
}

enum body_outcome body_skip(struct body *body, const char *data, size_t length, size_t *used)
{
    enum body_outcome outcome = BODY_INCOMPLETE;

    *used = 0;
    while (outcome == BODY_INCOMPLETE && *used < length) {
        const size_t before = *used;

        if (body->state == PLAIN || body->state == CHUNK) {
            *used += skip(body, length - *used);
            if (body->state == PLAIN && body->left == 0)
                outcome = BODY_COMPLETE;
        } else {
            outcome = take(body, data[(*used)++]);
        }
        body->taken += (uint32_t)(*used - before);
        if (body->taken - body->bytes > BODY_BYTES_MAX && outcome == BODY_INCOMPLETE)
            outcome = BODY_TOO_LARGE;
    }
    return outcome;
}
