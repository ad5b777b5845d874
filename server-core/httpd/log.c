/*
 * See log.h.
 */
#include "httpd/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *process_name;
static char *diverted_to;
static size_t diverted_size;

void log_set_process(const char *name)
{
    process_name = name;
}

void log_divert(char *text, size_t size)
{
    diverted_to = text;
    diverted_size = size;
    if (text)
        *text = '\0';
}

static void divert(const char *format, va_list arguments, const char *reason)
{
    const size_t before = strlen(diverted_to);
    const size_t start = before > 0 && before + 2 < diverted_size ? before + 2 : before;
    char *text = diverted_to + start;
    const size_t room = diverted_size - start;
    int length = vsnprintf(text, room, format, arguments);

    memcpy(diverted_to + before, "; ", start - before);
    if (reason && (size_t)length < room)
        snprintf(text + length, room - (size_t)length, ": %s", reason);
}

static void write_line(const char *format, va_list arguments, const char *reason)
{
    char line[2048];
    int length = snprintf(line, sizeof(line), "trimtab-httpd: %s%s", process_name ? process_name : "",
                          process_name ? ": " : "");

    if (diverted_to) {
        divert(format, arguments, reason);
        return;
    }
    length += vsnprintf(line + length, sizeof(line) - (size_t)length, format, arguments);
    if (reason && length < (int)sizeof(line))
        length += snprintf(line + length, sizeof(line) - (size_t)length, ": %s", reason);
    if (length > (int)sizeof(line) - 1)
        length = sizeof(line) - 1;
    line[length++] = '\n';
    if (write(STDERR_FILENO, line, (size_t)length) < 0) {
        /* Nobody is left who could be told. */
    }
}

void log_line(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    write_line(format, arguments, NULL);
    va_end(arguments);
}

void log_errno(const char *format, ...)
{
    const char *reason = strerror(errno);
    va_list arguments;

    va_start(arguments, format);
    write_line(format, arguments, reason);
    va_end(arguments);
}
