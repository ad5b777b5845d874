/*
 * See shared.h.
 */
#include "httpd/shared.h"

#include "common/clock.h"

#include <sys/mman.h>

struct shared {
    struct live_settings settings;
    size_t mapped; /* bytes */
    size_t stride; /* bytes from one row to the next: whole cache lines */
    _Alignas(CACHE_LINE_BYTES) unsigned char rows[];
};

static size_t whole_lines(size_t bytes)
{
    return (bytes + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
}

struct shared *shared_create(const struct config *config, unsigned rows)
{
    const size_t stride = whole_lines(sizeof(struct counters)) +
                          whole_lines(histogram_bytes(SERVICE_TIME_PRECISION_BITS)) + CACHE_LINE_BYTES;
    struct shared *shared = mmap(NULL, sizeof(*shared) + rows * stride, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (shared == MAP_FAILED)
        return NULL;
    shared->mapped = sizeof(*shared) + rows * stride;
    shared->stride = stride;
    for (unsigned i = 0; i < rows; i++)
        histogram_init(shared_service_time(shared, i), SERVICE_TIME_PRECISION_BITS);
    shared_apply(shared, config);
    return shared;
}

void shared_destroy(struct shared *shared)
{
    munmap(shared, shared->mapped);
}

struct live_settings *shared_settings(struct shared *shared)
{
    return &shared->settings;
}

void shared_apply(struct shared *shared, const struct config *config)
{
    struct live_settings *settings = &shared->settings;

    settings->max_connections = config_integer(config, KNOB_MAX_CONNECTIONS);
    settings->accept_limit = config_integer(config, KNOB_ACCEPT_LIMIT);
    settings->sendfile = (int)config_integer(config, KNOB_SENDFILE);
    settings->keepalive_timeout_ns = clock_seconds_to_ns(config_seconds(config, KNOB_KEEPALIVE_TIMEOUT));
    settings->request_timeout_ns = clock_seconds_to_ns(config_seconds(config, KNOB_REQUEST_TIMEOUT));
    settings->min_bytes_per_s = (uint64_t)config_integer(config, KNOB_MIN_BYTES_PER_S);
}

struct counters *shared_counters(struct shared *shared, unsigned row)
{
    return (struct counters *)(shared->rows + row * shared->stride);
}

struct histogram *shared_service_time(struct shared *shared, unsigned row)
{
    return (struct histogram *)(shared->rows + row * shared->stride + whole_lines(sizeof(struct counters)));
}

_Atomic uint64_t *shared_idle_since_ns(struct shared *shared, unsigned row)
{
    return (_Atomic uint64_t *)(shared->rows + (row + 1) * shared->stride - CACHE_LINE_BYTES);
}
