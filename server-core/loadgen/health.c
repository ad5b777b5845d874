/*
 * See health.h.
 */
#include "health.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static void add_reason(struct health *health, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add_reason(struct health *health, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(health->reasons[health->reason_count++], HEALTH_REASON_SIZE, format, arguments);
    va_end(arguments);
}

/* Returns how many of the recorded values are larger than `limit`, to the precision of the buckets. */
static uint64_t count_beyond(const struct histogram *histogram, uint64_t limit)
{
    uint32_t position = 0;
    uint64_t value, count, beyond = 0;

    while (histogram_next(histogram, &position, &value, &count))
        beyond += value > limit ? count : 0;
    return beyond;
}

void health_judge(struct health *health, const struct account *account, bool closed_loop, double cpu_share)
{
    const uint64_t *dropped = account->sessions_dropped;
    uint64_t too_late = count_beyond(account->lateness_us, HEALTH_LATENESS_LIMIT_US);

    *health = (struct health){
        .lateness_p99_us = histogram_quantile(account->lateness_us, 0.99),
        .lateness_max_us = histogram_max(account->lateness_us),
        .cpu_share = cpu_share,
    };
    if (too_late >= HEALTH_LATE_COUNT_MIN && too_late * 100 > account->sessions_started)
        add_reason(health,
                   "%" PRIu64 " of %" PRIu64
                   " arrivals were more than %d us late; the limit is one in a hundred.",
                   too_late, account->sessions_started, HEALTH_LATENESS_LIMIT_US);
    if (cpu_share >= HEALTH_CPU_SHARE_LIMIT && health->lateness_p99_us > ACCOUNT_LATE_US)
        add_reason(health,
                   "The generator used %.0f %% of its CPU while more than 1 %% of the arrivals were over %d "
                   "us late.",
                   cpu_share * 100, ACCOUNT_LATE_US);
    if (closed_loop && cpu_share >= HEALTH_CPU_SHARE_LIMIT)
        add_reason(health,
                   "The generator used %.0f %% of its CPU, so the server may have waited for it; --processes "
                   "takes more CPUs.",
                   cpu_share * 100);
    if (dropped[DROP_PORTS] > 0)
        add_reason(health,
                   "%" PRIu64
                   " sessions were dropped because no local port was free; --source takes more addresses.",
                   dropped[DROP_PORTS]);
    if (dropped[DROP_DESCRIPTORS] > 0)
        add_reason(
            health,
            "%" PRIu64
            " sessions were dropped because the limit of open files or of memory for sockets was reached.",
            dropped[DROP_DESCRIPTORS]);
    if (account->failures[FAILURE_NO_PORT] + account->failures[FAILURE_NO_DESCRIPTOR] > 0)
        add_reason(health,
                   "%" PRIu64
                   " connections could not be opened again for want of local ports, open files or memory.",
                   account->failures[FAILURE_NO_PORT] + account->failures[FAILURE_NO_DESCRIPTOR]);
    if (dropped[DROP_LATENESS] > 0)
        add_reason(health,
                   "%" PRIu64
                   " sessions were dropped because the generator came to them after their connect timeout.",
                   dropped[DROP_LATENESS]);
}

void health_add_limited_part(struct health *health, const char *file, const char *reason)
{
    add_reason(health, "%s was generator-limited: %s", file, reason);
}

const char *health_verdict(const struct health *health)
{
    return health->reason_count == 0 ? "ok" : "generator-limited";
}
