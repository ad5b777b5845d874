/*
 * Conditional requests (RFC 9110 §13): whether a request is to be served, and whether its Range counts.
 */
#ifndef TRIMTAB_HTTPD_HTTP_CONDITIONS_H
#define TRIMTAB_HTTPD_HTTP_CONDITIONS_H

#include "httpd/http/request.h"

#include <time.h>

#define ETAG_MAX 48

/* What tells versions of a file apart. */
struct validators {
    char etag[ETAG_MAX]; /* with its quotes */
    time_t modified;     /* in whole seconds, as Last-Modified says it */
};

/* Makes the validators of a file. The tag is a strong one: it is made of the size and of the time of the last
 * change in nanoseconds, and a version is opened anew when either differs (file_cache.h); and of the name of
 * its coding, "" for none, because each representation has tags of its own (§8.8.3.3). */
void validators_make(struct validators *validators, uint64_t size, struct timespec modified,
                     const char *coding);

/*
 * Evaluates the preconditions of a request whose head begins at `data`, in the order of §13.2.2. Returns 200:
 * serve it, 304 or 412. *range is then the value of the Range header that is to be obeyed, in the head; NULL
 * if there is none.
 */
enum http_status conditions_evaluate(const struct request *request, const char *data,
                                     const struct validators *validators, time_t now, const char **range,
                                     size_t *range_length);

#endif
