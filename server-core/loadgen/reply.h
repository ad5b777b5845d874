/*
 * Reads the head of an HTTP/1.x reply: what the generator must know, and whether the head is well-formed
 * (RFC 9112 §2–6). The body is not looked at.
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
    REPLY_TRANSFER_ENCODING, /* the body is chunked or otherwise encoded */
    REPLY_NO_LENGTH,         /* there is a body, and it would end with the connection */
};

#define REPLY_LENGTH_UNKNOWN UINT64_MAX

/* A field's value, inside the parsed data; of no length when there is no such field. */
struct reply_text {
    const char *start;
    size_t length;
};

struct reply_head {
    unsigned status;
    size_t head_bytes;       /* with the empty line */
    uint64_t content_length; /* as announced, or REPLY_LENGTH_UNKNOWN */
    uint64_t body_bytes;     /* that follow the head: 0 after HEAD and with a status that has no body */
    bool connection_close;   /* the server will close the connection after this reply */
    struct reply_text etag;
    struct reply_text last_modified;
};

/* Reads the `length` bytes at `data`, the beginning of a reply, and fills `head` when it returns
 * REPLY_PARSED. `to_head` says that the reply answers a HEAD request. */
enum reply_parse reply_parse_head(const char *data, size_t length, bool to_head, struct reply_head *head);

#endif
