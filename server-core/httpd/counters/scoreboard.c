/*
 * See scoreboard.h.
 */
#include "httpd/counters/scoreboard.h"

#include "common/clock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* What the workers that accept tell each other. */
struct presence {
    _Alignas(CACHE_LINE_BYTES) _Atomic uint64_t idle_since_ns;
    _Atomic bool listens;
};

/* A row is the counters, the histogram and the presence of a worker. Behind the rows is room for as
 * many more: what they were when they were last cleared. */
struct shared {
    struct live_settings settings;
    _Alignas(CACHE_LINE_BYTES) unsigned char rows[];
};

/* What lies where is in memory of each process alone: the master must not believe the workers, which may be
 * somebody else's, where it is to read and write. */
struct scoreboard {
    struct shared *shared;
    size_t mapped; /* bytes */
    size_t stride; /* bytes from one row to the next: whole cache lines */
    unsigned row_count;
    bool cleared; /* ever */
};

struct scoreboard *scoreboard_create(const struct config *config, unsigned rows)
{
    const size_t stride = whole_lines(sizeof(struct counters)) +
                          whole_lines(histogram_bytes(SERVICE_TIME_PRECISION_BITS)) + sizeof(struct presence);
    const size_t bytes = sizeof(struct shared) + 2 * rows * stride;
    struct scoreboard *scoreboard = malloc(sizeof(*scoreboard));
    struct shared *shared =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (!scoreboard || shared == MAP_FAILED) {
        if (shared != MAP_FAILED)
            munmap(shared, bytes);
        free(scoreboard);
        return NULL;
    }
    *scoreboard = (struct scoreboard){.shared = shared, .mapped = bytes, .stride = stride, .row_count = rows};
    for (unsigned i = 0; i < rows; i++)
        histogram_init(scoreboard_service_time(scoreboard, i), SERVICE_TIME_PRECISION_BITS);
    scoreboard_apply(scoreboard, config);
    return scoreboard;
}

void scoreboard_destroy(struct scoreboard *scoreboard)
{
    munmap(scoreboard->shared, scoreboard->mapped);
    free(scoreboard);
}

struct live_settings *scoreboard_settings(struct scoreboard *scoreboard)
{
    return &scoreboard->shared->settings;
}

void scoreboard_apply(struct scoreboard *scoreboard, const struct config *config)
{
    struct live_settings *settings = &scoreboard->shared->settings;

    settings->max_connections = config_integer(config, KNOB_MAX_CONNECTIONS);
    settings->accept_limit = config_integer(config, KNOB_ACCEPT_LIMIT);
    settings->sendfile = (int)config_integer(config, KNOB_SENDFILE);
    settings->keepalive_timeout_ns = clock_seconds_to_ns(config_seconds(config, KNOB_KEEPALIVE_TIMEOUT));
    settings->request_timeout_ns = clock_seconds_to_ns(config_seconds(config, KNOB_REQUEST_TIMEOUT));
    settings->min_bytes_per_s = (uint64_t)config_integer(config, KNOB_MIN_BYTES_PER_S);
    settings->stage_threads = (int)config_integer(config, KNOB_STAGE_THREADS);
    settings->stage_batch = (int)config_integer(config, KNOB_STAGE_BATCH);
    settings->admission_p90_ms = config_integer(config, KNOB_ADMISSION_P90_MS);
}

struct counters *scoreboard_counters(struct scoreboard *scoreboard, unsigned row)
{
    return (struct counters *)(scoreboard->shared->rows + row * scoreboard->stride);
}

struct histogram *scoreboard_service_time(struct scoreboard *scoreboard, unsigned row)
{
    return (struct histogram *)(scoreboard->shared->rows + row * scoreboard->stride +
                                whole_lines(sizeof(struct counters)));
}

static struct presence *presence(const struct scoreboard *scoreboard, unsigned row)
{
    return (struct presence *)(scoreboard->shared->rows + (row + 1) * scoreboard->stride) - 1;
}

_Atomic uint64_t *scoreboard_idle_since_ns(struct scoreboard *scoreboard, unsigned row)
{
    return &presence(scoreboard, row)->idle_since_ns;
}

_Atomic bool *scoreboard_listens(struct scoreboard *scoreboard, unsigned row)
{
    return &presence(scoreboard, row)->listens;
}

void scoreboard_clear(struct scoreboard *scoreboard)
{
    const size_t bytes = scoreboard->row_count * scoreboard->stride;

    memcpy(scoreboard->shared->rows + bytes, scoreboard->shared->rows, bytes);
    scoreboard->cleared = true;
}

void scoreboard_read(struct scoreboard *scoreboard, unsigned row, uint64_t values[METRIC_COUNT])
{
    const uint64_t *now = (const uint64_t *)scoreboard_counters(scoreboard, row);
    const uint64_t *before = (const uint64_t *)scoreboard_counters(scoreboard, scoreboard->row_count + row);

    for (size_t i = 0; i < METRIC_COUNT; i++) {
        values[i] = __atomic_load_n(&now[i], __ATOMIC_RELAXED);
        if (scoreboard->cleared && strcmp(METRIC_TABLE[i].kind, "counter") == 0)
            values[i] -= before[i];
    }
}

/* Takes the values of `less`, an earlier state of the same histogram, away from `histogram`. The maximum is
 * then known as exactly as its bucket is wide. */
static void subtract(struct histogram *histogram, const struct histogram *less)
{
    uint32_t position = 0;
    uint64_t value, count;

    histogram_subtract(histogram, less);
    if (histogram->max != less->max)
        return; /* it was reached since */
    histogram->max = 0;
    while (histogram_next(histogram, &position, &value, &count))
        histogram->max = value < less->max ? value : less->max;
}

/* Returns the histograms of `count` rows from row `first` on together. */
static struct histogram *merged(struct scoreboard *scoreboard, unsigned first, unsigned count)
{
    struct histogram *total = histogram_new(SERVICE_TIME_PRECISION_BITS);

    for (unsigned i = 0; total && i < count; i++)
        histogram_merge(total, scoreboard_service_time(scoreboard, first + i));
    return total;
}

struct histogram *scoreboard_service_times(struct scoreboard *scoreboard, unsigned first, unsigned count)
{
    struct histogram *total = merged(scoreboard, first, count);
    struct histogram *before =
        total && scoreboard->cleared ? merged(scoreboard, scoreboard->row_count + first, count) : NULL;

    if (before)
        subtract(total, before);
    free(before);
    return total;
}
