/*
 * What the generator prints: progress and the result, as JSON lines (docs/internals/load-generator.md has
 * the schema) or as text for people.
 */
#ifndef TRIMTAB_LOADGEN_REPORT_H
#define TRIMTAB_LOADGEN_REPORT_H

#include "loadgen/accounting.h"
#include "loadgen/health.h"
#include "loadgen/options.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What a progress line is made from. */
struct progress {
    double elapsed_s;
    uint64_t sessions_open;
    uint64_t requests_replied; /* since the start of the run, as the next one */
    uint64_t requests_timed_out;
    double interval_s; /* since the progress line before, as all that follows */
    uint64_t interval_replies;
    uint64_t interval_bytes;
    const struct histogram *reply_us;
};

struct result {
    const struct options *options;
    const struct account *account;
    const struct health *health;
    double elapsed_s; /* until the last session had ended */
    double window_s;  /* length of the window in which goodput was counted */
    bool interrupted;
};

/* Each writes one JSON line; `edge` is "begin" or "end", of the goodput window. */
void report_progress(FILE *out, const struct progress *progress);
void report_window(FILE *out, const char *edge, double elapsed_s);
void report_result(FILE *out, const struct result *result);

/* Each writes the same as text. */
void report_progress_text(FILE *out, const struct progress *progress);
void report_result_text(FILE *out, const struct result *result);

/* 10^6 bit/s, of `bytes` in `seconds`; 0 when there was no time. */
double report_mbps(uint64_t bytes, double seconds);

/* Events per second; 0 when there was no time. */
double report_rate(uint64_t events, double seconds);

#endif
