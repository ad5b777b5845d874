/*
 * See stats.h.
 *
 * Only a worker writes its counters, so clearing them does not touch them: the master remembers what they
 * were and subtracts it. That takes effect at once, for all workers at the same moment, and disturbs none of
 * them.
 */
#include "httpd/stats.h"

#include "common/clock.h"
#include "httpd/arch/architecture.h"

#include <stdlib.h>
#include <string.h>

/* Per row: what its counters and its histogram were when they were last cleared. NULL: never. */
struct baseline {
    struct counters counters;
    struct histogram *service_time;
};

static struct baseline *baselines;

static bool is_counter(size_t metric)
{
    return strcmp(METRIC_TABLE[metric].kind, "counter") == 0;
}

/* Adds the value of a row to the total, as the metric's aggregation says. */
static void aggregate(uint64_t *total, size_t metric, uint64_t value)
{
    if (strcmp(METRIC_TABLE[metric].aggregation, "max") != 0)
        *total += value;
    else if (value > *total)
        *total = value;
}

/* The counters as an array, in the order of METRIC_TABLE. */
static const uint64_t *values(const struct counters *counters)
{
    return (const uint64_t *)counters;
}

/* Reads the counters of a row less its baseline. */
static void read_counters(const struct master *master, unsigned row, uint64_t result[METRIC_COUNT])
{
    const uint64_t *now = values(shared_counters(master->shared, row));

    for (size_t i = 0; i < METRIC_COUNT; i++) {
        result[i] = __atomic_load_n(&now[i], __ATOMIC_RELAXED);
        if (baselines && is_counter(i))
            result[i] -= values(&baselines[row].counters)[i];
    }
}

/* Takes the values of `less`, an earlier state of the same histogram, away from `histogram`. The maximum is
 * then known as exactly as its bucket is wide. */
static void subtract(struct histogram *histogram, const struct histogram *less)
{
    uint32_t position = 0;
    uint64_t value, count;

    for (uint32_t i = 0; i < histogram->bucket_count; i++)
        histogram->buckets[i] -= less->buckets[i];
    histogram->count -= less->count;
    histogram->sum -= less->sum;
    if (histogram->max != less->max)
        return; /* it was reached since */
    histogram->max = 0;
    while (histogram_next(histogram, &position, &value, &count))
        histogram->max = value < less->max ? value : less->max;
}

static void write_service_time(const struct master *master, struct json_writer *json)
{
    struct histogram *total = histogram_new(SERVICE_TIME_PRECISION_BITS);

    json_key(json, METRIC_SERVICE_TIME);
    if (!total) {
        json_null(json);
        return;
    }
    for (unsigned i = 0; i < master->layout.rows; i++)
        histogram_merge(total, shared_service_time(master->shared, i));
    if (baselines) {
        struct histogram *before = histogram_new(SERVICE_TIME_PRECISION_BITS);

        for (unsigned i = 0; before && i < master->layout.rows; i++)
            histogram_merge(before, baselines[i].service_time);
        if (before)
            subtract(total, before);
        free(before);
    }
    json_open_object(json);
    json_member_unsigned(json, "count", histogram_count(total));
    json_member_number(json, "mean", histogram_mean(total));
    json_member_unsigned(json, "p50", histogram_quantile(total, 0.5));
    json_member_unsigned(json, "p90", histogram_quantile(total, 0.9));
    json_member_unsigned(json, "p99", histogram_quantile(total, 0.99));
    json_member_unsigned(json, "p999", histogram_quantile(total, 0.999));
    json_member_unsigned(json, "max", histogram_max(total));
    json_close_object(json);
    free(total);
}

static void write_metrics(struct json_writer *json, const uint64_t result[METRIC_COUNT])
{
    for (size_t i = 0; i < METRIC_COUNT; i++)
        json_member_unsigned(json, METRIC_TABLE[i].name, result[i]);
}

void stats_write(const struct master *master, struct json_writer *json)
{
    uint64_t total[METRIC_COUNT] = {0};
    uint64_t result[METRIC_COUNT];

    json_open_object(json);
    json_member_number(json, "uptime_s", (double)(clock_now_ns() - master->started_ns) / 1e9);
    json_key(json, "workers");
    json_open_array(json);
    for (unsigned row = 0; row < master->layout.rows; row++) {
        const struct row_description about = architecture_row(master->config, row);

        read_counters(master, row, result);
        json_open_object(json);
        json_member_unsigned(json, "worker", row);
        json_member_string(json, "role", about.role);
        json_member_signed(json, "pid", master->workers[about.process].pid);
        write_metrics(json, result);
        json_close_object(json);
        for (size_t i = 0; i < METRIC_COUNT; i++)
            aggregate(&total[i], i, result[i]);
    }
    json_close_array(json);
    json_key(json, "total");
    json_open_object(json);
    write_metrics(json, total);
    write_service_time(master, json);
    json_close_object(json);
    json_close_object(json);
}

static void write_schema_row(struct json_writer *json, const struct metric *metric)
{
    json_open_object(json);
    json_member_string(json, "name", metric->name);
    json_member_string(json, "unit", metric->unit);
    json_member_string(json, "kind", metric->kind);
    json_member_string(json, "aggregation", metric->aggregation);
    json_member_string(json, "help", metric->help);
    json_close_object(json);
}

void stats_write_schema(struct json_writer *json)
{
    static const struct metric service_time = {
        METRIC_SERVICE_TIME,
        "us",
        "histogram",
        "merge",
        "from the complete request to the last byte handed to the kernel; in the total only",
    };

    json_open_array(json);
    for (size_t i = 0; i < METRIC_COUNT; i++)
        write_schema_row(json, &METRIC_TABLE[i]);
    write_schema_row(json, &service_time);
    json_close_array(json);
}

void stats_release(const struct master *master)
{
    for (unsigned i = 0; baselines && i < master->layout.rows; i++)
        free(baselines[i].service_time);
    free(baselines);
    baselines = NULL;
}

/* Makes the baselines, all zero. Returns false when there is no memory. */
static bool make_baselines(const struct master *master)
{
    baselines = calloc(master->layout.rows, sizeof(*baselines));
    for (unsigned i = 0; baselines && i < master->layout.rows; i++) {
        baselines[i].service_time = histogram_new(SERVICE_TIME_PRECISION_BITS);
        if (!baselines[i].service_time)
            stats_release(master);
    }
    return baselines != NULL;
}

bool stats_clear(const struct master *master)
{
    if (!baselines && !make_baselines(master))
        return false;
    for (unsigned i = 0; i < master->layout.rows; i++) {
        baselines[i].counters = *shared_counters(master->shared, i);
        memcpy(baselines[i].service_time, shared_service_time(master->shared, i),
               histogram_bytes(SERVICE_TIME_PRECISION_BITS));
    }
    return true;
}
