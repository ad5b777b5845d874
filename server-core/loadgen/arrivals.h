/*
 * When sessions begin: the arrival clock of an open loop.
 *
 * The moments are computed from the start of the run and from nothing else: neither replies nor delays of the
 * generator move them. Deterministic arrivals are equally spaced, the n-th (from 0) at n × interval, so
 * rounding never adds up. Poisson arrivals have independent, exponentially distributed gaps of the same mean,
 * the first gap before the first arrival, and are the same for the same seed. A trace is a list of moments,
 * stretched or squeezed to the wanted rate, and repeated when it is over.
 */
#ifndef TRIMTAB_LOADGEN_ARRIVALS_H
#define TRIMTAB_LOADGEN_ARRIVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum arrival_kind { ARRIVALS_DETERMINISTIC, ARRIVALS_POISSON, ARRIVALS_TRACE };

/* Moments at which sessions began somewhere else. */
struct arrival_trace {
    double *moments_s; /* ascending, from the start of the trace */
    size_t count;      /* at least 2 */
    double period_s;   /* after which it repeats itself: its end and one mean gap */
};

struct arrivals {
    enum arrival_kind kind;
    double interval_ns;                /* mean */
    const struct arrival_trace *trace; /* NULL but for ARRIVALS_TRACE */
    uint64_t index;                    /* of the next arrival */
    uint64_t random_state;             /* of the generator of the gaps */
    double next_ns;                    /* of the next arrival, from the start */
};

/* Gets the clock ready: `rate_per_s` > 0 arrivals a second in the mean. */
void arrivals_init(struct arrivals *arrivals, enum arrival_kind kind, const struct arrival_trace *trace,
                   double rate_per_s, uint64_t seed);

/* Returns the moment of the next arrival in nanoseconds from the start of the run. */
static inline uint64_t arrivals_next_ns(const struct arrivals *arrivals)
{
    return (uint64_t)arrivals->next_ns;
}

/* Goes on to the arrival after the next one. */
void arrivals_advance(struct arrivals *arrivals);

/* Reads a trace: a line for each moment, in seconds; empty lines and those that begin with # are passed over.
 * Returns false, with FILE:LINE and a sentence in `error`, when it is not ascending or has fewer than two
 * different moments; `name` is what messages call it. */
bool arrival_trace_read(struct arrival_trace *trace, FILE *in, const char *name, char *error,
                        size_t error_size);
void arrival_trace_free(struct arrival_trace *trace);

/* Mean number of arrivals per second of a trace as it stands. */
double arrival_trace_rate(const struct arrival_trace *trace);

#endif
