/*
 * See chunks.h.
 */
#include "chunks.h"

#include "field_characters.h"
#include "hex.h"

/* What comes next. */
enum {
    SIZE_FIRST,
    SIZE,  /* a further digit, or the end of the size */
    BLANK, /* white space behind it, which may go on */
    EXTENSION,
    SIZE_END, /* the line feed */
    CONTENTS,
    CONTENTS_CR,
    CONTENTS_END,
    TRAILER_FIRST, /* of a line behind the last chunk, or the CR of the empty line that ends the body */
    TRAILER_NAME,
    TRAILER,
    TRAILER_END,
    LAST_END,
};

void chunks_begin(struct chunks *chunks)
{
    *chunks = (struct chunks){.state = SIZE_FIRST};
}

/* Takes a byte behind the digits of a size. */
static enum chunks_step end_size(struct chunks *chunks, char byte)
{
    if (byte == '\r')
        chunks->state = SIZE_END;
    else if (byte == ';')
        chunks->state = EXTENSION;
    else if (byte == ' ' || byte == '\t')
        chunks->state = BLANK;
    else
        return CHUNKS_BROKEN;
    return CHUNKS_FRAMING;
}

/* Takes a byte of the size of a chunk. */
static enum chunks_step take_size(struct chunks *chunks, uint64_t size_max, char byte)
{
    const int digit = hex_value(byte);

    if (digit >= 0) {
        chunks->state = SIZE;
        if (chunks->left > size_max >> 4)
            return CHUNKS_TOO_LONG;
        chunks->left = chunks->left * 16 + (unsigned)digit;
        return chunks->left > size_max ? CHUNKS_TOO_LONG : CHUNKS_FRAMING;
    }
    return chunks->state == SIZE_FIRST ? CHUNKS_BROKEN : end_size(chunks, byte);
}

/* Takes a byte of a line of text, which goes on with state `end` when its CR has come. */
static enum chunks_step take_text(struct chunks *chunks, char byte, uint8_t end)
{
    if (byte == '\r')
        chunks->state = end;
    else if (!field_value_character(byte))
        return CHUNKS_BROKEN;
    return CHUNKS_FRAMING;
}

/* Takes a byte that must be `wanted`; `next` follows. */
static enum chunks_step take_mark(struct chunks *chunks, char byte, char wanted, uint8_t next)
{
    chunks->state = next;
    return byte == wanted ? CHUNKS_FRAMING : CHUNKS_BROKEN;
}

/* Takes a byte of the name of a trailer, or the mark in its place behind which `next` follows. */
static enum chunks_step take_name(struct chunks *chunks, char byte, char mark, uint8_t next)
{
    chunks->state = byte == mark ? next : TRAILER_NAME;
    return byte == mark || field_name_character(byte) ? CHUNKS_FRAMING : CHUNKS_BROKEN;
}

/* Takes a byte of the framing. */
static enum chunks_step take_framing(struct chunks *chunks, uint64_t size_max, char byte)
{
    switch (chunks->state) {
    case SIZE_FIRST:
    case SIZE:
        return take_size(chunks, size_max, byte);
    case BLANK:
        return end_size(chunks, byte);
    case EXTENSION:
        return take_text(chunks, byte, SIZE_END);
    case SIZE_END:
        return take_mark(chunks, byte, '\n', chunks->left > 0 ? CONTENTS : TRAILER_FIRST);
    case CONTENTS_CR:
        return take_mark(chunks, byte, '\r', CONTENTS_END);
    case CONTENTS_END:
        return take_mark(chunks, byte, '\n', SIZE_FIRST);
    case TRAILER_FIRST:
        return take_name(chunks, byte, '\r', LAST_END);
    case TRAILER_NAME:
        return take_name(chunks, byte, ':', TRAILER);
    case TRAILER:
        return take_text(chunks, byte, TRAILER_END);
    case TRAILER_END:
        return take_mark(chunks, byte, '\n', TRAILER_FIRST);
    case LAST_END:
        return byte == '\n' ? CHUNKS_COMPLETE : CHUNKS_BROKEN;
    default:
        return CHUNKS_BROKEN;
    }
}

enum chunks_step chunks_take(struct chunks *chunks, uint64_t size_max, const char *data, size_t length,
                             size_t *used)
{
    enum chunks_step step = CHUNKS_FRAMING;

    if (chunks->state == CONTENTS) {
        *used = length < chunks->left ? length : (size_t)chunks->left;
        chunks->left -= *used;
        chunks->framing = 0;
        if (chunks->left == 0)
            chunks->state = CONTENTS_CR;
        return CHUNKS_CONTENTS;
    }
    *used = 0;
    while (step == CHUNKS_FRAMING && *used < length && chunks->state != CONTENTS)
        step = take_framing(chunks, size_max, data[(*used)++]);
    chunks->framing += (uint32_t)*used;
    return step;
}
