/*
 * Messages for the person who runs the server: one line each on stderr, written by one write(2), so that
 * lines of several processes never mix.
 *
 * What the command line is told, such as a mistake in its configuration, is the sentence alone:
 *     trimtab-httpd: cannot be read: No such file or directory
 * From log_begin() on stderr is a log, and each line has its time (UTC) and how bad it is:
 *     2026-01-31T08:15:30.123Z trimtab-httpd: warning: worker 0: ...
 * Then nobody waits for whoever reads it, and who serves writes no more than some lines a second; the next
 * line says how many were left out.
 * Where stderr leads to the journal, that keeps the time, and is told the level in its way (sd-daemon(3)).
 */
#ifndef TRIMTAB_HTTPD_LOG_H
#define TRIMTAB_HTTPD_LOG_H

#include <stddef.h>

/* Names the process in its messages; NULL for the master. `name` must stay valid. */
void log_set_process(const char *name);

/* Puts messages into `text` from now on, with "; " between them and as far as they fit into `size` bytes,
 * instead of writing them: for checks whose outcome somebody else is told. NULL: writes them again. */
void log_divert(char *text, size_t size);

/* Has each message carry its time and level from now on. */
void log_begin(void);

/* Write a message. Error: something could not be done. Warning: it goes on, otherwise than was asked for, or
 * somebody outside is to blame. Notice: what is worth knowing where all is well. */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_notice(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* An error, with ": " and the text of errno at the end. */
void log_errno(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
