/*
 * See access_log.h: the rings and the file.
 */
#include "httpd/connection/access_log.h"

#include "httpd/counters/scoreboard.h"
#include "httpd/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define RING_BYTES (256 * 1024) /* a power of two; some 2000 lines */

/* One writer and one reader: each moves its own end. */
struct log_ring {
    _Alignas(64) _Atomic uint64_t written; /* bytes ever */
    _Alignas(64) _Atomic uint64_t collected;
    atomic_bool told; /* the master has been told since it collected */
    char bytes[RING_BYTES];
};

struct log_rings {
    struct log_rings *next;
    unsigned count;
    struct scoreboard *scoreboard;
    struct log_ring *all;
};

static struct log_rings *first_rings; /* of all that are there */
static char *log_path;
static int log_fd = -1;
static int wake_fd = -1;

/* The ring at which a pipe was full, perhaps in the middle of a line: it goes on before all others. */
static const struct log_rings *stuck_rings;
static unsigned stuck_row;

/* It may be a pipe, for whose reader the master does not wait either. */
static int open_file(const char *path)
{
    const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0644);

    if (fd < 0)
        log_errno("cannot open the access log %s", path);
    return fd;
}

/* Writes from now on to another file (-1: to none). */
static void change_file(int fd)
{
    if (log_fd >= 0) {
        access_log_collect();
        close(log_fd);
    }
    log_fd = fd;
}

bool access_log_open(const char *path)
{
    const int fd = open_file(path);
    char *copy = fd >= 0 ? strdup(path) : NULL;

    if (copy && wake_fd < 0)
        wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (!copy || wake_fd < 0) {
        if (fd >= 0)
            close(fd);
        free(copy);
        return false;
    }
    change_file(fd);
    free(log_path);
    log_path = copy;
    return true;
}

bool access_log_is_open(void)
{
    return log_fd >= 0;
}

struct log_rings *access_log_add_rings(unsigned rows, struct scoreboard *scoreboard)
{
    struct log_rings *rings = malloc(sizeof(*rings));

    if (rings) {
        *rings = (struct log_rings){.next = first_rings, .count = rows, .scoreboard = scoreboard};
        rings->all = mmap(NULL, rows * sizeof(*rings->all), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    if (!rings || rings->all == MAP_FAILED) {
        log_errno("cannot make room for the access log");
        free(rings);
        return NULL;
    }
    first_rings = rings;
    return rings;
}

static void close_all(void)
{
    change_file(-1);
    if (wake_fd >= 0)
        close(wake_fd);
    wake_fd = -1;
    free(log_path);
    log_path = NULL;
}

void access_log_remove_rings(struct log_rings *rings)
{
    struct log_rings **link = &first_rings;

    if (!rings)
        return;
    access_log_collect();
    while (*link != rings)
        link = &(*link)->next;
    *link = rings->next;
    if (stuck_rings == rings)
        stuck_rings = NULL;
    munmap(rings->all, rings->count * sizeof(*rings->all));
    free(rings);
    if (!first_rings)
        close_all();
}

int access_log_wake_fd(void)
{
    return wake_fd;
}

void access_log_reopen(void)
{
    const int fd = access_log_is_open() ? open_file(log_path) : -1;

    if (fd >= 0) /* better the old file than none */
        change_file(fd);
}

void access_log_close_in_child(void)
{
    if (log_fd >= 0)
        close(log_fd);
    log_fd = -1;
}

static uint64_t lines(const char *bytes, size_t length)
{
    uint64_t count = 0;

    for (size_t i = 0; i < length; i++)
        count += bytes[i] == '\n';
    return count;
}

/* Writes the bytes of a ring from *from to `to`, which may stand at its end and at its beginning, and
 * advances *from: a pipe that is full takes the rest later. Returns how many lines are lost. */
static uint64_t write_out(struct log_ring *ring, uint64_t *from, uint64_t to)
{
    static bool failing;

    while (*from < to) {
        const size_t place = *from % RING_BYTES;
        const size_t length = (size_t)(to - *from);
        const size_t first = length < RING_BYTES - place ? length : RING_BYTES - place;
        struct iovec parts[2] = {
            {.iov_base = ring->bytes + place, .iov_len = first},
            {.iov_base = ring->bytes, .iov_len = length - first},
        };
        const ssize_t written = writev(log_fd, parts, 2);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && errno == EAGAIN)
            return 0;
        if (written <= 0) {
            if (!failing)
                log_errno("cannot write the access log %s: lines are lost", log_path);
            failing = true;
            *from = to;
            return lines(parts[0].iov_base, parts[0].iov_len) + lines(parts[1].iov_base, parts[1].iov_len);
        }
        failing = false;
        *from += (uint64_t)written;
    }
    return 0;
}

void access_log_count_dropped(struct counters *counters, uint64_t count)
{
    __atomic_fetch_add(&counters->access_log_dropped, count, __ATOMIC_RELAXED);
}

/* Writes what the ring of a row holds. Returns false if a pipe is full and takes the rest later. */
static bool collect_ring(const struct log_rings *rings, unsigned row)
{
    struct log_ring *ring = &rings->all[row];
    uint64_t from = atomic_load_explicit(&ring->collected, memory_order_relaxed);
    uint64_t to = atomic_load_explicit(&ring->written, memory_order_acquire), lost;

    if (to - from > RING_BYTES) /* a worker has invented it; we read no further than the ring */
        to = from + RING_BYTES;
    if (from == to)
        return true;
    lost = write_out(ring, &from, to);
    if (lost > 0)
        access_log_count_dropped(scoreboard_counters(rings->scoreboard, row), lost);
    atomic_store_explicit(&ring->collected, from, memory_order_release);
    atomic_store(&ring->told, from < to);
    return from == to;
}

static bool collect(const struct log_rings *rings, unsigned row)
{
    const bool all = collect_ring(rings, row);

    stuck_rings = all ? NULL : rings;
    stuck_row = row;
    return all;
}

void access_log_collect(void)
{
    eventfd_t value;

    eventfd_read(wake_fd, &value); /* it is empty if nobody has asked for this */
    if (stuck_rings && !collect(stuck_rings, stuck_row))
        return;
    for (const struct log_rings *rings = first_rings; rings; rings = rings->next) {
        for (unsigned row = 0; row < rings->count; row++) {
            if (!collect(rings, row))
                return;
        }
    }
}

struct log_ring *access_log_ring(struct log_rings *rings, unsigned row)
{
    return rings ? &rings->all[row] : NULL;
}

static void copy_in(struct log_ring *ring, uint64_t *at, const char *bytes, size_t length)
{
    const size_t place = *at % RING_BYTES;
    const size_t first = length < RING_BYTES - place ? length : RING_BYTES - place;

    memcpy(ring->bytes + place, bytes, first);
    memcpy(ring->bytes, bytes + first, length - first);
    *at += length;
}

bool access_log_append(struct log_ring *ring, const struct log_part *parts, size_t count)
{
    uint64_t at = atomic_load_explicit(&ring->written, memory_order_relaxed);
    const uint64_t waiting = at - atomic_load_explicit(&ring->collected, memory_order_acquire);
    size_t length = 0;

    for (size_t i = 0; i < count; i++)
        length += parts[i].length;
    if (waiting + length > RING_BYTES / 2 && !atomic_load_explicit(&ring->told, memory_order_relaxed)) {
        atomic_store(&ring->told, true);
        eventfd_write(wake_fd, 1);
    }
    if (waiting + length > RING_BYTES)
        return false;
    for (size_t i = 0; i < count; i++)
        copy_in(ring, &at, parts[i].bytes, parts[i].length);
    atomic_store_explicit(&ring->written, at, memory_order_release);
    return true;
}
