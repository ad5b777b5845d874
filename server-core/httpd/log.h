/*
 * Messages for the person who runs the server: one line each on stderr, written by one write(2), so that
 * lines of several processes never mix.
 */
#ifndef TRIMTAB_HTTPD_LOG_H
#define TRIMTAB_HTTPD_LOG_H

#include <stdbool.h>

/* Names the process in its messages; NULL for the master. `name` must stay valid. */
void log_set_process(const char *name);

/* Keeps quiet, for checks whose outcome alone matters, or speaks again. */
void log_silence(bool silent);

/* Writes "trimtab-httpd: [process: ]message\n". */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, with ": " and the text of errno at the end. */
void log_errno(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
