/*
 * See arrivals.h.
 */
#include "arrivals.h"

#include "memory.h"
#include "random.h"

#include <string.h>

/* A trace longer than thirty years is none, and one that is over within a microsecond has no shape. */
#define TRACE_MAX_S 1e9
#define TRACE_MIN_S 1e-6

/* Later than any run, and still a number of nanoseconds that fits 64 bits. */
#define NEVER_NS 9e18

/* Computes the moment of arrival number `index`. */
static void set_next(struct arrivals *arrivals)
{
    const struct arrival_trace *trace = arrivals->trace;

    switch (arrivals->kind) {
    case ARRIVALS_DETERMINISTIC:
        arrivals->next_ns = (double)arrivals->index * arrivals->interval_ns;
        break;
    case ARRIVALS_POISSON:
        arrivals->next_ns += random_exponential(&arrivals->random_state, arrivals->interval_ns);
        break;
    case ARRIVALS_TRACE:
        arrivals->next_ns = ((double)(arrivals->index / trace->count) * trace->period_s +
                             trace->moments_s[arrivals->index % trace->count]) *
                            arrival_trace_rate(trace) * arrivals->interval_ns;
        break;
    }
    if (!(arrivals->next_ns < NEVER_NS))
        arrivals->next_ns = NEVER_NS;
}

void arrivals_init(struct arrivals *arrivals, enum arrival_kind kind, const struct arrival_trace *trace,
                   double rate_per_s, uint64_t seed)
{
    *arrivals = (struct arrivals){
        .kind = kind, .interval_ns = 1e9 / rate_per_s, .trace = trace, .random_state = seed};
    set_next(arrivals);
}

void arrivals_advance(struct arrivals *arrivals)
{
    arrivals->index++;
    set_next(arrivals);
}

double arrival_trace_rate(const struct arrival_trace *trace)
{
    return (double)trace->count / trace->period_s;
}

bool arrival_trace_read(struct arrival_trace *trace, FILE *in, const char *name, char *error,
                        size_t error_size)
{
    char *line = NULL;
    size_t line_size = 0;
    unsigned long number = 0;
    double last_s = 0;
    bool ok = true;

    *trace = (struct arrival_trace){0};
    while (ok && getline(&line, &line_size, in) >= 0) {
        char *end;
        const char *text = line + strspn(line, " \t");
        number++;
        if (*text == '#' || text[strspn(text, "\r\n")] == '\0')
            continue;
        double moment_s = strtod(text, &end);
        end += strspn(end, " \t\r\n");
        ok = *end == '\0' && moment_s >= last_s && moment_s <= TRACE_MAX_S;
        if (!ok) {
            snprintf(
                error, error_size,
                "%s:%lu: expected a moment in seconds, at most %g and not before that of the line before",
                name, number, TRACE_MAX_S);
            break;
        }
        trace->moments_s = memory_room_for_one(trace->moments_s, trace->count, sizeof(*trace->moments_s));
        trace->moments_s[trace->count++] = last_s = moment_s;
    }
    free(line);
    if (ok && (trace->count < 2 || last_s - trace->moments_s[0] < TRACE_MIN_S)) {
        snprintf(error, error_size, "%s: expected at least two different moments", name);
        ok = false;
    }
    if (ok)
        trace->period_s = last_s + (last_s - trace->moments_s[0]) / (double)(trace->count - 1);
    return ok;
}

void arrival_trace_free(struct arrival_trace *trace)
{
    free(trace->moments_s);
}
