/*
 * Media types by file name.
 */
#ifndef TRIMTAB_HTTPD_HTTP_MIME_H
#define TRIMTAB_HTTPD_HTTP_MIME_H

/* Returns the media type for a path by the extension of its last segment, in any case of letters;
 * "application/octet-stream" when it has none that is known. */
const char *mime_type(const char *path);

#endif
