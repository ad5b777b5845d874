/*
 * A reply as a value: what is to be said to a request, and how far that is out.
 *
 *     text (the head) | range of the file | text before the next part | range of the file | … | last text
 *
 * Most replies are a head and the whole file, or a head that says all; the text of a small file has its
 * contents behind the head. Only one of several ranges (RFC 9110
 * §14.6) has more than one part. Nothing here sends or opens anything: who runs the connection looks the file
 * up and describes it (struct representation), sends the text and the range that the reply names, and says
 * how many bytes are out.
 */
#ifndef TRIMTAB_HTTPD_HTTP_REPLY_H
#define TRIMTAB_HTTPD_HTTP_REPLY_H

#include "httpd/http/presentation.h"
#include "httpd/http/request.h"
#include "httpd/http/response.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct multipart;

/* What a reply must know of the file that it is about, which may be a compressed one. */
struct representation {
    const struct presentation *presentation;
    const char *path; /* of the plain file, or its key (hosts.h) */
    enum coding coding;
    unsigned codings; /* in which the file is there beside the plain one (CODING_BIT()) */
    uint64_t size;    /* bytes */
    struct timespec modified;

    /* Of a plain file: the head of the usual reply, without a Connection header and with a blank for the
     * date. `in_place`: nobody else uses it at the same time, so that the reply may be sent from there. */
    char *head;
    bool in_place;
    size_t head_length, date_offset;
    size_t expires_offset; /* of another date, which is expires_s seconds ahead; 0: there is none */
    int64_t expires_s;
    const char
        *contents; /* of a small file, right behind the head; NULL: they are to be sent from the file */
};

/* A request to be answered. */
struct asking {
    const struct request *request;
    const char *data; /* where its head begins */
    const struct http_date *date;
    struct http_date *expires; /* the last one that was said: most often the next is the same */
    bool keep_alive;           /* after the reply */
    char *text;                /* REPLY_TEXT_MAX bytes for the text, which the reply then names */
};

#define REPLY_CONTENTS_MAX 8192 /* bytes of contents that a text may end with */
#define REPLY_TEXT_MAX     (RESPONSE_HEAD_MAX + 32 + REPLY_CONTENTS_MAX) /* with a Connection header */
_Static_assert(ERROR_REPLY_MAX <= REPLY_TEXT_MAX, "an error and its body are a text");

/* Zeroed: there is none. */
struct reply {
    const char *text; /* to be sent next, from text_sent on; others' bytes unless owns_text */
    uint32_t text_sent, text_length;
    uint32_t text_body; /* so many bytes at the end of the text are of the body */
    uint16_t status;    /* enum http_status */
    bool owns_text;
    off_t offset, end;           /* of the file, to be sent behind the text */
    uint64_t body_bytes;         /* of the body, all in all */
    struct multipart *multipart; /* where there are several parts; offset and end are those of one of them */
};

/* Makes a reply with an error; `more` is a further header line with its CR LF, or "". */
void reply_make_error(struct reply *reply, const struct asking *asking, enum http_status status,
                      const char *more);

/* Makes a reply that sends the client from the directory `path` to the same with a trailing slash. */
void reply_make_redirect(struct reply *reply, const struct asking *asking, const char *path);

/* Makes the reply to a request for a file: the file, ranges of it, or what its conditions demand. */
void reply_make_file(struct reply *reply, const struct asking *asking,
                     const struct representation *representation);

/* Says whether the reply has a part that is not begun yet; the text behind the last counts. */
bool reply_has_next_part(const struct reply *reply);

/* Makes the next part what is to be sent. Returns false when there is no memory. */
bool reply_next_part(struct reply *reply);

enum reply_progress {
    REPLY_GOES_ON, /* there is more to be sent */
    REPLY_OVER,
    REPLY_FAILED, /* there is no memory for the next part */
};

/* Notes that `sent` bytes more are out, first of the text, then of the range. */
enum reply_progress reply_advance(struct reply *reply, size_t sent);

/* Makes a copy of the text, as far as it has not been sent, for the bytes are others'. Returns false when
 * there is no memory. */
bool reply_own_text(struct reply *reply);

/* Returns how many bytes of the body have been sent; what stands between several parts does not count. */
uint64_t reply_body_sent(const struct reply *reply);

/* Frees what the reply owns; nothing is left to be sent. */
void reply_drop(struct reply *reply);

#endif
