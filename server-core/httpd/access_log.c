/*
 * See access_log.h.
 */
#include "httpd/access_log.h"

#include "httpd/connection.h"
#include "httpd/http/range.h"
#include "httpd/log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define RING_BYTES (256 * 1024) /* a power of two; some 2000 lines between two collections */
#define FIELD_MAX  2048         /* bytes of a field; longer ones are cut off */
#define LINE_MAX   (4 * FIELD_MAX)

/* One writer and one reader: each moves its own end. */
struct log_ring {
    _Alignas(64) _Atomic uint64_t written; /* bytes ever */
    _Alignas(64) _Atomic uint64_t collected;
    char bytes[RING_BYTES];
};

/* A line without its outcome, which goes between the two parts. */
struct log_entry {
    uint64_t body_bytes;
    uint32_t before_length, length;
    char text[];
};

static struct log_ring *rings;
static unsigned ring_count;
static const char *log_path;
static int log_fd = -1;

static int open_file(void)
{
    const int fd = open(log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);

    if (fd < 0)
        log_errno("cannot open the access log %s", log_path);
    return fd;
}

bool access_log_open(const char *path, unsigned rows)
{
    log_path = path;
    log_fd = open_file();
    if (log_fd < 0)
        return false;
    rings = mmap(NULL, rows * sizeof(*rings), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (rings == MAP_FAILED) {
        rings = NULL;
        log_errno("cannot make room for the access log");
        return false;
    }
    ring_count = rows;
    return true;
}

bool access_log_is_open(void)
{
    return log_fd >= 0;
}

void access_log_reopen(void)
{
    const int fd = open_file();

    if (fd < 0)
        return; /* better the old file than none */
    access_log_collect();
    close(log_fd);
    log_fd = fd;
}

void access_log_close(void)
{
    if (!access_log_is_open())
        return;
    access_log_collect();
    close(log_fd);
    log_fd = -1;
}

/* Writes the bytes of a ring from `from` to `to`, which may stand at its end and at its beginning. */
static void write_out(struct log_ring *ring, uint64_t from, uint64_t to)
{
    static bool failing;

    while (from < to) {
        const size_t place = from % RING_BYTES;
        const size_t length = (size_t)(to - from);
        const size_t first = length < RING_BYTES - place ? length : RING_BYTES - place;
        struct iovec parts[2] = {
            {.iov_base = ring->bytes + place, .iov_len = first},
            {.iov_base = ring->bytes, .iov_len = length - first},
        };
        const ssize_t written = writev(log_fd, parts, 2);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            if (!failing)
                log_errno("cannot write the access log %s: lines are lost", log_path);
            failing = true;
            return;
        }
        failing = false;
        from += (uint64_t)written;
    }
}

void access_log_collect(void)
{
    for (unsigned i = 0; i < ring_count; i++) {
        const uint64_t from = atomic_load_explicit(&rings[i].collected, memory_order_relaxed);
        const uint64_t to = atomic_load_explicit(&rings[i].written, memory_order_acquire);

        if (from == to)
            continue;
        write_out(&rings[i], from, to);
        atomic_store_explicit(&rings[i].collected, to, memory_order_release);
    }
}

struct log_ring *access_log_ring(unsigned row)
{
    return rings ? &rings[row] : NULL;
}

/* --- making lines --- */

struct line {
    size_t length;
    char text[LINE_MAX];
};

static void append(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void append(struct line *line, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(line->text + line->length, LINE_MAX - line->length, format, arguments);
    va_end(arguments);
    line->length += (size_t)length < LINE_MAX - line->length ? (size_t)length : LINE_MAX - line->length - 1;
}

/* Appends a field in quotation marks: what could end it or deceive a terminal is escaped. "-" if empty. */
static void append_quoted(struct line *line, const char *text, size_t length)
{
    size_t used = 0;

    append(line, "\"%s", length == 0 ? "-" : "");
    for (size_t i = 0; i < length && used < FIELD_MAX - 4; i++) {
        const unsigned char c = (unsigned char)text[i];
        const bool plain = c >= ' ' && c < 0x7F && c != '"' && c != '\\';

        append(line, plain ? "%c" : "\\x%02X", c);
        used += plain ? 1 : 4;
    }
    append(line, "\"");
}

static void append_peer(struct line *line, int socket)
{
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof(address);
    char text[INET6_ADDRSTRLEN] = "-";

    if (getpeername(socket, (struct sockaddr *)&address, &length) == 0) {
        if (address.ss_family == AF_INET)
            inet_ntop(AF_INET, &((struct sockaddr_in *)&address)->sin_addr, text, sizeof(text));
        else if (address.ss_family == AF_INET6)
            inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&address)->sin6_addr, text, sizeof(text));
    }
    append(line, "%s", text);
}

/* "10/Oct/2000:13:55:36 +0000" */
static void append_time(struct line *line, time_t second)
{
    static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct tm utc;

    gmtime_r(&second, &utc);
    append(line, "%02d/%s/%d:%02d:%02d:%02d +0000", utc.tm_mday, months[utc.tm_mon], utc.tm_year + 1900,
           utc.tm_hour, utc.tm_min, utc.tm_sec);
}

/* The request line as it came; it may be no good one. */
static void append_request_line(struct line *line, const struct request *request, const char *data)
{
    const char *end = data ? data + request->parsed : NULL;
    const char *line_end;

    while (data < end && (*data == '\r' || *data == '\n'))
        data++;
    line_end = data < end ? memchr(data, '\r', (size_t)(end - data)) : NULL;
    append_quoted(line, data, line_end ? (size_t)(line_end - data) : 0);
}

static void append_header(struct line *line, const struct request *request, const char *data,
                          const char *name)
{
    struct header header = {0};

    if (data && request_find_header(request, data, name, &header))
        append_quoted(line, header.value, header.value_length);
    else
        append_quoted(line, "", 0);
}

void access_log_begin(struct worker *worker, struct connection *connection, const struct request *request,
                      const char *data, uint64_t body_bytes)
{
    struct line line;
    struct log_entry *entry;
    size_t before_length;

    if (!worker->access_log)
        return;
    line.length = 0; /* not `= {0}` above: that would clear the whole text for every request */
    append_peer(&line, connection->fd);
    append(&line, " - - [");
    append_time(&line, worker->date.second);
    append(&line, "] ");
    append_request_line(&line, request, data);
    before_length = line.length;
    append(&line, " ");
    append_header(&line, request, data, "Referer");
    append(&line, " ");
    append_header(&line, request, data, "User-Agent");
    append(&line, "\n");
    free(connection->log_entry);
    entry = connection->log_entry = malloc(sizeof(*entry) + line.length);
    if (!entry) {
        worker->counters->access_log_dropped++;
        return;
    }
    entry->body_bytes = body_bytes;
    entry->before_length = (uint32_t)before_length;
    entry->length = (uint32_t)line.length;
    memcpy(entry->text, line.text, line.length);
}

/* Returns the bytes of the body that have not been sent, as far as they come from the file. */
static uint64_t unsent(const struct connection *connection)
{
    const struct multipart *multipart = connection->multipart;
    uint64_t bytes = 0;

    if (connection->offset < connection->end)
        bytes = (uint64_t)(connection->end - connection->offset);
    for (unsigned i = multipart ? multipart->next : 0; multipart && i < multipart->count; i++)
        bytes += multipart->ranges[i].end - multipart->ranges[i].first;
    return bytes;
}

static void copy_in(struct log_ring *ring, uint64_t *at, const char *bytes, size_t length)
{
    const size_t place = *at % RING_BYTES;
    const size_t first = length < RING_BYTES - place ? length : RING_BYTES - place;

    memcpy(ring->bytes + place, bytes, first);
    memcpy(ring->bytes, bytes + first, length - first);
    *at += length;
}

void access_log_end(struct worker *worker, struct connection *connection)
{
    struct log_entry *entry = connection->log_entry;
    struct log_ring *ring = worker->access_log;
    char outcome[48];
    uint64_t at, left;
    size_t length;

    if (!entry)
        return;
    left = unsent(connection);
    length = (size_t)snprintf(outcome, sizeof(outcome), " %u %" PRIu64, connection->status,
                              entry->body_bytes > left ? entry->body_bytes - left : 0);
    at = atomic_load_explicit(&ring->written, memory_order_relaxed);
    if (at + entry->length + length - atomic_load_explicit(&ring->collected, memory_order_acquire) >
        RING_BYTES) {
        worker->counters->access_log_dropped++;
    } else {
        copy_in(ring, &at, entry->text, entry->before_length);
        copy_in(ring, &at, outcome, length);
        copy_in(ring, &at, entry->text + entry->before_length, entry->length - entry->before_length);
        atomic_store_explicit(&ring->written, at, memory_order_release);
    }
    free(entry);
    connection->log_entry = NULL;
}
