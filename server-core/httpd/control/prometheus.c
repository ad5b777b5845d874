/*
 * See prometheus.h. Names are those of `show schema` with the program's before them and the unit behind; the
 * replies are one metric with the status as a label.
 */
#include "httpd/control/prometheus.h"

#include "common/clock.h"
#include "httpd/config/architecture.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX  "trimtab_httpd_"
#define REPLIES "replies_" /* what the names of those metrics begin with */

/* Upper bounds of the classes of service times. */
static const uint64_t BOUNDS_US[] = {50,    100,   250,    500,    1000,   2500,    5000,    10000,
                                     25000, 50000, 100000, 250000, 500000, 1000000, 2500000, 10000000};

static void write_heading(FILE *out, const char *name, const char *suffix, const char *kind, const char *help)
{
    fprintf(out, "# HELP " PREFIX "%s%s %s\n# TYPE " PREFIX "%s%s %s\n", name, suffix, help, name, suffix,
            kind);
}

/* Writes what tells the rows of a metric apart, without the closing brace. */
static void write_labels(const struct master *master, FILE *out, unsigned row)
{
    fprintf(out, "{worker=\"%u\",role=\"%s\"", row, architecture_row(master->config, row).role);
}

static void write_metric(const struct master *master, FILE *out, size_t index)
{
    const struct metric *metric = &METRIC_TABLE[index];
    const bool is_counter = strcmp(metric->kind, "counter") == 0;
    const bool is_reply = strncmp(metric->name, REPLIES, strlen(REPLIES)) == 0;
    const char *name = is_reply ? "replies" : metric->name;
    const char *suffix = is_counter ? "_total" : "";

    if (!is_reply)
        write_heading(out, name, suffix, is_counter ? "counter" : "gauge", metric->help);
    else if (strncmp(METRIC_TABLE[index - 1].name, REPLIES, strlen(REPLIES)) != 0) /* the first of them */
        write_heading(out, name, suffix, "counter", "replies by status");
    for (unsigned row = 0; row < master->layout.rows; row++) {
        const uint64_t *values = (const uint64_t *)scoreboard_counters(master->scoreboard, row);

        fprintf(out, PREFIX "%s%s", name, suffix);
        write_labels(master, out, row);
        if (is_reply)
            fprintf(out, ",status=\"%s\"", metric->name + strlen(REPLIES));
        fprintf(out, "} %" PRIu64 "\n", __atomic_load_n(&values[index], __ATOMIC_RELAXED));
    }
}

static void write_service_times_of(const struct master *master, FILE *out, unsigned row)
{
    const struct histogram *shared = scoreboard_service_time(master->scoreboard, row);
    const uint64_t sum_us = histogram_sum(shared); /* first: no value is in it that is not counted */
    /* A copy has the size that we know; that of the other one lies in memory which workers may write. */
    struct histogram *histogram = histogram_new(SERVICE_TIME_PRECISION_BITS);
    const size_t classes = sizeof(BOUNDS_US) / sizeof(*BOUNDS_US);
    uint64_t counts[sizeof(BOUNDS_US) / sizeof(*BOUNDS_US) + 1] = {0};
    uint64_t value_us, count, total = 0;
    uint32_t position = 0;

    if (!histogram)
        return;
    histogram_merge(histogram, shared);
    while (histogram_next(histogram, &position, &value_us, &count)) {
        size_t class = 0;

        while (class < classes && value_us > BOUNDS_US[class])
            class++;
        counts[class] += count;
    }
    free(histogram);
    for (size_t i = 0; i <= classes; i++) {
        total += counts[i];
        fprintf(out, PREFIX "service_time_seconds_bucket");
        write_labels(master, out, row);
        if (i < classes)
            fprintf(out, ",le=\"%g\"} %" PRIu64 "\n", (double)BOUNDS_US[i] / 1e6, total);
        else
            fprintf(out, ",le=\"+Inf\"} %" PRIu64 "\n", total);
    }
    fprintf(out, PREFIX "service_time_seconds_sum");
    write_labels(master, out, row);
    fprintf(out, "} %.6f\n" PREFIX "service_time_seconds_count", (double)sum_us / 1e6);
    write_labels(master, out, row);
    fprintf(out, "} %" PRIu64 "\n", total);
}

void prometheus_write(const struct master *master, FILE *out)
{
    write_heading(out, "info", "", "gauge", "what runs; the value is always 1");
    fprintf(out, PREFIX "info{version=\"%s\",architecture=\"%s\"} 1\n", TRIMTAB_VERSION,
            master->architecture->name);
    write_heading(out, "uptime", "_seconds", "gauge", "time since the start of the server");
    fprintf(out, PREFIX "uptime_seconds %.3f\n", (double)(clock_now_ns() - master->started_ns) / 1e9);
    write_heading(out, "worker_restarts", "_total", "counter", "workers that died and were replaced");
    fprintf(out, PREFIX "worker_restarts_total %" PRIu64 "\n", master->worker_restarts);
    for (size_t i = 0; i < METRIC_COUNT; i++)
        write_metric(master, out, i);
    write_heading(out, "service_time", "_seconds", "histogram",
                  "from the complete request to the last byte handed to the kernel");
    for (unsigned row = 0; row < master->layout.rows; row++)
        write_service_times_of(master, out, row);
    fprintf(out, "# EOF");
}
