/*
 * See stats.h.
 */
#include "httpd/control/stats.h"

#include "common/clock.h"
#include "httpd/config/architecture.h"

#include <stdlib.h>
#include <string.h>

/* Adds the value of a row to the total, as the metric's aggregation says. */
static void aggregate(uint64_t *total, size_t metric, uint64_t value)
{
    if (strcmp(METRIC_TABLE[metric].aggregation, "max") != 0)
        *total += value;
    else if (value > *total)
        *total = value;
}

/* Writes the service times of `count` rows from row `first` on together. */
static void write_service_time(const struct master *master, struct json_writer *json, unsigned first,
                               unsigned count)
{
    struct histogram *total = scoreboard_service_times(master->scoreboard, first, count);

    json_key(json, METRIC_SERVICE_TIME);
    if (!total) {
        json_null(json);
        return;
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

        scoreboard_read(master->scoreboard, row, result);
        json_open_object(json);
        json_member_unsigned(json, "worker", row);
        json_member_string(json, "role", about.role);
        json_member_signed(json, "pid", master->workers[about.process].pid);
        write_metrics(json, result);
        write_service_time(master, json, row, 1);
        json_close_object(json);
        for (size_t i = 0; i < METRIC_COUNT; i++)
            aggregate(&total[i], i, result[i]);
    }
    json_close_array(json);
    json_key(json, "total");
    json_open_object(json);
    write_metrics(json, total);
    write_service_time(master, json, 0, master->layout.rows);
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
        "from the complete request to the last byte handed to the kernel",
    };

    json_open_array(json);
    for (size_t i = 0; i < METRIC_COUNT; i++)
        write_schema_row(json, &METRIC_TABLE[i]);
    write_schema_row(json, &service_time);
    json_close_array(json);
}
