/*
 * How files are presented to clients, by their paths: their media types, the header lines that the
 * configuration has for them, and whether they may be sent compressed.
 */
#ifndef TRIMTAB_HTTPD_HTTP_PRESENTATION_H
#define TRIMTAB_HTTPD_HTTP_PRESENTATION_H

#include "httpd/http/coding.h"
#include "httpd/http/mime.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define PATH_LINES_MAX 1536 /* bytes of the lines that a section [path] may have, with its NUL */

/* Those with Content-Encoding, Vary and Expires, and the NUL. */
#define PRESENTATION_LINES_MAX 1792

/* What a section [path PREFIX] says, of the host whose section stands before it. */
struct path_rule {
    char *key;   /* what keys of the file cache begin with (http/hosts.h); the longest that fits counts */
    char *lines; /* header lines with their CR LF, or "" */
    int64_t expires_s; /* how long a reply stays fresh; -1: nothing is said */
};

struct presentation {
    struct mime_types *types;
    struct path_rule *rules;
    size_t rule_count;
    bool precompressed; /* files compressed beforehand may lie beside the plain ones */
};

/*
 * Writes the header lines that go with a reply about the (plain) file of `key` in the file cache, made
 * at `now`, in coding `coding` if the file is there in the codings `codings`. A line Expires is the last one.
 * Returns the seconds that it is ahead of `now`; -1: there is no such line.
 */
int64_t presentation_lines(const struct presentation *presentation, const char *key, enum coding coding,
                           unsigned codings, time_t now, char lines[PRESENTATION_LINES_MAX]);

/* Frees what a presentation owns. */
void presentation_release(struct presentation *presentation);

#endif
