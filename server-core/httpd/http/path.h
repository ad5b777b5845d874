/*
 * From the target of a request to a path below the root.
 */
#ifndef TRIMTAB_HTTPD_HTTP_PATH_H
#define TRIMTAB_HTTPD_HTTP_PATH_H

#include <stdbool.h>
#include <stddef.h>

#define PATH_BYTES_MAX 4096 /* PATH_MAX of Linux: with the NUL */

/*
 * Decodes a target (path with optional query) into `path`: percent-decoded, then dot segments removed and
 * repeated slashes merged, without leading slash and NUL-terminated. A directory is "" or ends with a slash.
 * Decoding comes first, so "%2e%2e" and "%2F" are treated like what they stand for; ".." never leads above
 * the start (RFC 3986 §5.2.4).
 *
 * Returns the length of the path, or a negative status: -400 when an escape is malformed or a NUL is encoded,
 * -414 when the path is longer than any file name can be.
 */
int path_decode(const char *target, size_t length, char path[PATH_BYTES_MAX]);

/* Encodes a path as the path of a URI, with a leading slash (RFC 3986 §3.3). Returns false if it does not
 * fit. */
bool path_encode(const char *path, char *uri, size_t size);

#endif
