/*
 * Messages for the person who runs the server: one line each on stderr, written by one write(2), so that
 * lines of several processes never mix. Whoever serves never waits for stderr and writes no more than some
 * lines a second; the next line says how many were left out.
 */
#ifndef TRIMTAB_HTTPD_LOG_H
#define TRIMTAB_HTTPD_LOG_H

#include <stddef.h>

/* Names the process in its messages; NULL for the master. `name` must stay valid. */
void log_set_process(const char *name);

/* Puts messages into `text` from now on, with "; " between them and as far as they fit into `size` bytes,
 * instead of writing them: for checks whose outcome somebody else is told. NULL: writes them again. */
void log_divert(char *text, size_t size);

/* Writes "trimtab-httpd: [process: ]message\n". */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, with ": " and the text of errno at the end. */
void log_errno(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
