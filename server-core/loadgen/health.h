/*
 * Judges whether a result describes the server or the generator. docs/internals/load-generator.md argues
 * for the limits.
 */
#ifndef TRIMTAB_LOADGEN_HEALTH_H
#define TRIMTAB_LOADGEN_HEALTH_H

#include "loadgen/accounting.h"

#include <stdbool.h>
#include <stdint.h>

/* More than one arrival in a hundred later than this means that the generator did not offer the load that was
 * asked for. A generator that falls behind by only 0.5 % gets there within two seconds; one that is merely
 * preempted for a scheduler tick or two (1 to 4 ms each) does not. In a run of some dozen arrivals one
 * unlucky moment would be more than one in a hundred, so it takes a few. */
#define HEALTH_LATENESS_LIMIT_US 10000
#define HEALTH_LATE_COUNT_MIN    5

/* A process that computes this share of the time has no reserve; as long as its arrivals are on time, that is
 * only a fact, together with late arrivals it is the cause. A closed loop has no arrivals that could be late:
 * there it is the cause by itself. */
#define HEALTH_CPU_SHARE_LIMIT 0.97

#define HEALTH_REASONS_MAX 8
#define HEALTH_REASON_SIZE 512

struct health {
    unsigned reason_count;                                /* 0: the generator was not the limit */
    char reasons[HEALTH_REASONS_MAX][HEALTH_REASON_SIZE]; /* sentences */
    uint64_t lateness_p99_us;
    uint64_t lateness_max_us;
    double cpu_share; /* of one CPU, while load was offered; of the busiest process */
};

/* Judges `account`, for which the busiest process of the generator used `cpu_share` of one CPU. */
void health_judge(struct health *health, const struct account *account, bool closed_loop, double cpu_share);

/* Adds to the judgement of a sum of results that one of them was generator-limited. */
void health_add_limited_part(struct health *health, const char *file, const char *reason);

/* "ok" or "generator-limited". */
const char *health_verdict(const struct health *health);

#endif
