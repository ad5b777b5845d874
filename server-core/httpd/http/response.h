/*
 * Builds the heads of replies.
 *
 * A head for a file is built once and kept with the open file (file_cache.h); only its Date changes, and that
 * once a second.
 */
#ifndef TRIMTAB_HTTPD_HTTP_RESPONSE_H
#define TRIMTAB_HTTPD_HTTP_RESPONSE_H

#include "httpd/http/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define HTTP_DATE_LENGTH  29  /* "Sun, 06 Nov 1994 08:49:37 GMT", RFC 9110 §5.6.7 */
#define RESPONSE_HEAD_MAX 320 /* of a reply with a file, without Connection */
#define ERROR_REPLY_MAX                                                                                      \
    9216 /* of an error or redirect with its body: the longest Location is ours to bound */
#define LOCATION_MAX 8192

/* The present date in the form of HTTP, renewed once a second. */
struct http_date {
    time_t second;
    char text[HTTP_DATE_LENGTH + 1];
};

/* Brings the date up to `second`; cheap when it is still the same. */
void http_date_update(struct http_date *date, time_t second);

/*
 * Writes the head of a 200 reply with `size` bytes of media type `type`, with the empty line that ends it and
 * a blank date. Returns its length; *date_offset is where the HTTP_DATE_LENGTH bytes of the date go.
 */
size_t response_file_head(char head[RESPONSE_HEAD_MAX], const char *type, uint64_t size, size_t *date_offset);

/* The header that tells the peer whether the connection stays, where it does not go without saying
 * (RFC 9112 §9.3); "" where it does. */
const char *response_connection_header(bool keep_alive, int minor_version);

/*
 * Writes a whole reply other than a file: an error, or a redirect to `location` (else NULL), with a line of
 * text as its body unless `head_only`. Returns its length.
 */
size_t response_error(char reply[ERROR_REPLY_MAX], enum http_status status, const struct http_date *date,
                      const char *location, const char *connection_header, bool head_only);

/* Returns the reason phrase of a status. */
const char *response_reason(enum http_status status);

#endif
