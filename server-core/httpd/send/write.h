/*
 * Sending without sendfile: what the process has in its own memory is copied into the socket's buffer.
 */
#ifndef TRIMTAB_HTTPD_SEND_WRITE_H
#define TRIMTAB_HTTPD_SEND_WRITE_H

#include "httpd/send/sendfile.h"

#include <stddef.h>

/* Sends bytes[*offset…end) and advances *offset; with the outcomes of sendfile_range(), and `more` if
 * further bytes will follow at once. Counts calls and bytes. */
enum send_outcome write_range(int socket, bool blocking, const char *bytes, off_t *offset, off_t end,
                              bool more, struct counters *counters);

/* The same from a file that is not in memory, through a buffer. */
enum send_outcome write_file_range(int socket, bool blocking, int file, off_t *offset, off_t end, bool more,
                                   struct counters *counters);

/* Sends a head and, in the same call, bytes[*offset…end) behind it. Returns how many bytes of the head went
 * out, or -1 with errno; *offset is advanced by what went out behind it. */
ssize_t write_head_and_range(int socket, const char *head, size_t head_length, const char *bytes,
                             off_t *offset, off_t end, bool more, struct counters *counters);

#endif
