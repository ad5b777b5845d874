/*
 * Media types by file name: those of a file such as /etc/mime.types, and our own where it says nothing.
 */
#ifndef TRIMTAB_HTTPD_HTTP_MIME_H
#define TRIMTAB_HTTPD_HTTP_MIME_H

#include <stdio.h>

#define MIME_TYPE_MAX 128 /* with its charset and the NUL; longer ones are not taken */

struct mime_types;

/* Reads lines of a type and its extensions (NULL: there is no file); # begins a comment. What is text gets
 * `charset` as its parameter (NULL: none). Returns NULL with errno set on failure. */
struct mime_types *mime_types_create(FILE *file, const char *charset);

void mime_types_destroy(struct mime_types *types);

/* Returns the media type for a path by the extension of its last segment, in any case of letters;
 * "application/octet-stream" when it has none that is known. It lives as long as the table. */
const char *mime_type(const struct mime_types *types, const char *path);

#endif
