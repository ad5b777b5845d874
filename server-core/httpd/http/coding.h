/*
 * Content codings (RFC 9110 §8.4.1) of files that lie compressed beside the plain ones, and which of them a
 * client wants (§12.5.3).
 */
#ifndef TRIMTAB_HTTPD_HTTP_CODING_H
#define TRIMTAB_HTTPD_HTTP_CODING_H

#include "httpd/http/request.h"

/* In the order in which they are preferred: by what usually remains of a file. */
enum coding { CODING_BR, CODING_ZSTD, CODING_GZIP, CODING_NONE };

#define CODING_COUNT       CODING_NONE
#define CODING_BIT(coding) (1u << (coding))

struct coding_names {
    const char *name;   /* in headers */
    const char *suffix; /* of the file, behind the whole name of the plain one */
};

extern const struct coding_names CODINGS[CODING_COUNT];

/* Says whether a path is that of a compressed file, by its suffix. */
bool coding_has_suffix(const char *path);

/* Chooses among the codings in the set `available` (CODING_BIT()) what the request whose head begins at
 * `data` likes best; CODING_NONE: the plain file. */
enum coding coding_choose(const struct request *request, const char *data, unsigned available);

#endif
