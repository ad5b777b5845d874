/*
 * See log.h.
 */
#include "httpd/log.h"

#include "common/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#define LINES_PER_S 20 /* of a serving process */

/* What a line begins with. */
static enum { SENTENCE, TIME_AND_LEVEL, LEVEL_FOR_JOURNAL } beginning;
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

/* Says whether stderr leads to the journal, which then has said so (systemd.exec(5)). */
static bool leads_to_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat status;
    char ours[64];

    if (!stream || fstat(STDERR_FILENO, &status) != 0)
        return false;
    snprintf(ours, sizeof(ours), "%ju:%ju", (uintmax_t)status.st_dev, (uintmax_t)status.st_ino);
    return strcmp(stream, ours) == 0;
}

void log_begin(void)
{
    beginning = leads_to_journal() ? LEVEL_FOR_JOURNAL : TIME_AND_LEVEL;
}

/* Writes what a line of `level`, a priority of syslog(3), begins with. Returns its length. */
static int begin_line(char *line, size_t size, int level)
{
    static const char *const levels[] = {
        [LOG_ERR] = "error", [LOG_WARNING] = "warning", [LOG_NOTICE] = "notice"};
    const char *name = process_name ? process_name : "", *colon = process_name ? ": " : "";
    struct timespec now;
    struct tm utc;
    char time[32];

    if (beginning == SENTENCE)
        return snprintf(line, size, "trimtab-httpd: %s%s", name, colon);
    if (beginning == LEVEL_FOR_JOURNAL)
        return snprintf(line, size, "<%d>trimtab-httpd: %s%s", level, name, colon);
    clock_gettime(CLOCK_REALTIME, &now);
    strftime(time, sizeof(time), "%Y-%m-%dT%H:%M:%S", gmtime_r(&now.tv_sec, &utc));
    return snprintf(line, size, "%s.%03ldZ trimtab-httpd: %s: %s%s", time, now.tv_nsec / (long)NS_PER_MS,
                    levels[level], name, colon);
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

/* Says whether a line may be written now. A log never waits for who reads it: the master could neither be
 * stopped nor replace a worker meanwhile. Of who serves there may also be too many lines in this second. */
static bool may_write(void)
{
    static _Atomic uint64_t second;
    static atomic_uint lines;
    struct pollfd polled = {.fd = STDERR_FILENO, .events = POLLOUT};
    const uint64_t now = clock_now_ns() / NS_PER_S;

    if (beginning == SENTENCE && !process_name)
        return true;
    if (process_name && atomic_exchange(&second, now) != now)
        atomic_store(&lines, 0);
    if (process_name && atomic_fetch_add(&lines, 1) >= LINES_PER_S)
        return false;
    return poll(&polled, 1, 0) > 0 && polled.revents & POLLOUT;
}

static void write_line(int level, const char *format, va_list arguments, const char *reason)
{
    static atomic_uint left_out;
    unsigned unsaid;
    char line[2048];
    int length;

    if (diverted_to) {
        divert(format, arguments, reason);
        return;
    }
    if (!may_write()) {
        atomic_fetch_add(&left_out, 1);
        return;
    }
    length = begin_line(line, sizeof(line), level);
    unsaid = atomic_exchange(&left_out, 0);
    if (unsaid > 0)
        length += snprintf(line + length, sizeof(line) - (size_t)length, "(%u messages left out) ", unsaid);
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

void log_error(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    write_line(LOG_ERR, format, arguments, NULL);
    va_end(arguments);
}

void log_warning(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    write_line(LOG_WARNING, format, arguments, NULL);
    va_end(arguments);
}

void log_notice(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    write_line(LOG_NOTICE, format, arguments, NULL);
    va_end(arguments);
}

void log_errno(const char *format, ...)
{
    const char *reason = strerror(errno);
    va_list arguments;

    va_start(arguments, format);
    write_line(LOG_ERR, format, arguments, reason);
    va_end(arguments);
}
