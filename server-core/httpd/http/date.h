/*
 * Dates in the forms of HTTP (RFC 9110 §5.6.7).
 */
#ifndef TRIMTAB_HTTPD_HTTP_DATE_H
#define TRIMTAB_HTTPD_HTTP_DATE_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#define HTTP_DATE_LENGTH 29 /* "Sun, 06 Nov 1994 08:49:37 GMT" */

/* The present date in the form of HTTP, renewed once a second. */
struct http_date {
    time_t second;
    char text[HTTP_DATE_LENGTH + 1];
};

/* Brings the date up to `second`; cheap when it is still the same. */
void http_date_update(struct http_date *date, time_t second);

/*
 * Reads a date in any of the three forms that a server has to understand: IMF-fixdate, RFC 850 with its two
 * digits for the year, and that of asctime(3). `now` decides which century two digits mean. Returns false
 * for anything else; a sender's mistakes are not guessed at.
 */
bool http_date_parse(const char *text, size_t length, time_t now, time_t *second);

#endif
