/*
 * What the clients ask for: sessions, read from a log or made from the URL.
 *
 * DESIGN. A session is a row of requests that go one at a time over one persistent connection. The log has
 * httperf's `wsesslog` form (docs/internals/load-generator.md has the grammar). It may be long, so it is
 * kept in three flat arrays: every distinct request once, with its text ready to be sent; eight bytes for
 * each request; four for each session.
 */
#ifndef TRIMTAB_LOADGEN_SESSIONS_H
#define TRIMTAB_LOADGEN_SESSIONS_H

#include "loadgen/request_kind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define KINDS_MAX ((UINT32_C(1) << 30) - 1)

struct planned_request {
    uint32_t kind : 30;       /* index into kinds */
    uint32_t in_burst : 1;    /* belongs to the burst of the request before */
    uint32_t think_given : 1; /* think_us is what the log says; otherwise it says nothing */
    uint32_t think_us;        /* pause after the reply, before the next request of the session */
};

struct session_plan {
    struct request_kind *kinds;
    uint32_t kind_count;
    struct planned_request *requests;
    uint32_t request_count;
    uint32_t
        *session_ends; /* session i is requests[session_ends[i-1]] up to but not requests[session_ends[i]] */
    uint32_t session_count;
};

/* Reads the log `in`, which messages call `name`. Returns false, with FILE:LINE and a sentence in `error`,
 * when the log is malformed, empty or unreadable. The plan is released with sessions_free either way. */
bool sessions_read(struct session_plan *plan, FILE *in, const char *name, const struct request_form *form,
                   char *error, size_t error_size);

/* Makes a plan of one session: `requests` (≥ 1) times GET `path`, without pauses, in one burst. */
void sessions_repeat(struct session_plan *plan, const char *path, const struct request_form *form,
                     uint32_t requests);

/* Makes a plan of sessions that differ in their bursts: each has `requests` times GET `path`, in bursts whose
 * lengths have a Pareto distribution, rounded down to at least one request. */
void sessions_generate(struct session_plan *plan, const char *path, const struct request_form *form,
                       uint32_t requests, double shape, double minimum, uint64_t seed);

void sessions_free(struct session_plan *plan);

/* Index of the first request of a session, and how many requests it has. */
static inline uint32_t session_first(const struct session_plan *plan, uint32_t session)
{
    return session == 0 ? 0 : plan->session_ends[session - 1];
}

static inline uint32_t session_length(const struct session_plan *plan, uint32_t session)
{
    return plan->session_ends[session] - session_first(plan, session);
}

/* Mean number of requests in a session. */
static inline double sessions_mean_length(const struct session_plan *plan)
{
    return (double)plan->request_count / plan->session_count;
}

#endif
