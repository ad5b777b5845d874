/*
 * Builds the heads of replies.
 *
 * A head for a file is built once and kept with the open file (file_cache.h); only its Date and Expires
 * change, and those once a second.
 */
#ifndef TRIMTAB_HTTPD_HTTP_RESPONSE_H
#define TRIMTAB_HTTPD_HTTP_RESPONSE_H

#include "httpd/http/conditions.h"
#include "httpd/http/date.h"
#include "httpd/http/presentation.h"
#include "httpd/http/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RESPONSE_HEAD_MAX (1024 + PRESENTATION_LINES_MAX) /* of a reply with a file */
#define ERROR_REPLY_MAX                                                                                      \
    9216 /* of an error or redirect with its body: the longest Location is ours to bound */
#define LOCATION_MAX    8192
#define HEADER_LINE_MAX (LOCATION_MAX + 16)

/* A reply with a file or about one: 200, 206, 304. */
struct file_response {
    enum http_status status;
    const char *date; /* HTTP_DATE_LENGTH bytes; NULL: left blank */
    const char *type; /* media type of what is sent; NULL: nothing is, and only the tag of the file is told */
    uint64_t length;  /* of what is sent, or would be if this were no HEAD */
    const struct validators *validators;
    time_t now;       /* a file from the future was modified now (RFC 9110 §8.8.2.1) */
    const char *more; /* further lines with their CR LF, or "" */
};

/* Writes the head of a reply, with the empty line that ends it. Returns its length; *date_offset is where the
 * date stands. */
size_t response_file_head(char head[RESPONSE_HEAD_MAX], const struct file_response *response,
                          size_t *date_offset);

/* The header that tells the peer whether the connection stays, where it does not go without saying
 * (RFC 9112 §9.3); "" where it does. */
const char *response_connection_header(bool keep_alive, int minor_version);

/*
 * Writes a whole reply other than a file: an error or a redirect, with a line of text as its body unless
 * `head_only`. `more` is a further header line with its CR LF (Location, Content-Range), or "". Returns its
 * length.
 */
size_t response_error(char reply[ERROR_REPLY_MAX], enum http_status status, const struct http_date *date,
                      const char *more, const char *connection_header, bool head_only);

#endif
