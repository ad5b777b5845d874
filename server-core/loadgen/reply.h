/*
 * Reads the head of an HTTP/1.x reply: what the generator must know, and whether the head is well-formed
 * (RFC 9112 §2–6). The body is for reply_body.h.
 */
#ifndef TRIMTAB_LOADGEN_REPLY_H
#define TRIMTAB_LOADGEN_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A head longer than this is refused; servers commonly send a few hundred bytes. */
#define REPLY_HEAD_MAX 8192

enum reply_parse {
    REPLY_PARSED,
    REPLY_INCOMPLETE,        /* the empty line has not come yet */
    REPLY_MALFORMED,         /* not an HTTP/1.x reply head */
    REPLY_TRANSFER_ENCODING, /* the body is encoded, and not in chunks alone */
};

/* Where the body ends (RFC 9112 §6.3). */
enum reply_end {
    REPLY_ENDS_BY_LENGTH,
    REPLY_ENDS_BY_CHUNKS,
    REPLY_ENDS_BY_CLOSE, /* with the connection */
};

#define REPLY_LENGTH_UNKNOWN UINT64_MAX

/* No body is as long as this, which stands for a length that nobody knows yet. */
#define REPLY_BODY_ENDLESS (UINT64_MAX / 2)

/* A field's value, inside the parsed data; of no length when there is no such field. */
struct reply_text {
    const char *start;
    size_t length;
};

struct reply_head {
    unsigned status;
    enum reply_end end;
    size_t head_bytes;       /* with the empty line */
    uint64_t content_length; /* as announced, or REPLY_LENGTH_UNKNOWN until the body has come */
    uint64_t body_bytes;     /* of contents: 0 after HEAD and with a status that has no body; those that have
                                come of chunks; REPLY_BODY_ENDLESS until the connection has ended a body */
    bool connection_close;   /* the server will close the connection after this reply */
    struct reply_text etag;
    struct reply_text last_modified;
};

/* Reads the `length` bytes at `data`, the beginning of a reply, and fills `head` when it returns
 * REPLY_PARSED. `to_head` says that the reply answers a HEAD request. */
enum reply_parse reply_parse_head(const char *data, size_t length, bool to_head, struct reply_head *head);

#endif
