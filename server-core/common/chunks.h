/*
 * A body in chunks (RFC 9112 §7.1): which of its bytes are contents, and where it ends.
 *
 * It may be fed in pieces of any size, and copies nothing. Extensions and trailers are read over. Framing is
 * taken strictly: CR LF ends a line, a size has hexadecimal digits only, with nothing but extensions behind
 * them, trailers are fields, and lines hold nothing that the value of a field may not. How much of all that
 * may come is for the caller to limit.
 */
#ifndef TRIMTAB_CHUNKS_H
#define TRIMTAB_CHUNKS_H

#include <stddef.h>
#include <stdint.h>

struct chunks {
    uint64_t left;    /* contents of the present chunk that are still to come */
    uint32_t framing; /* bytes of framing since the last contents */
    uint8_t state;
};

/* What the bytes of a step were. */
enum chunks_step {
    CHUNKS_FRAMING, /* there is more to come */
    CHUNKS_CONTENTS,
    CHUNKS_COMPLETE, /* framing, and the end of the body */
    CHUNKS_BROKEN,   /* not what may come here */
    CHUNKS_TOO_LONG, /* a chunk says that it has more than `size_max` bytes */
};

void chunks_begin(struct chunks *chunks);

/* Takes a step through `length` bytes, which are more than 0: *used of them, from the first one on, are what
 * it returns. Nothing may follow a step with which the body is complete or refused. */
enum chunks_step chunks_take(struct chunks *chunks, uint64_t size_max, const char *data, size_t length,
                             size_t *used);

#endif
