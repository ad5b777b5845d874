/*
 * See open_loop.h.
 */
#include "open_loop.h"

#include "common/clock.h"
#include "report.h"

#include <sys/epoll.h>

/* Each costs some 5 to 15 us, so a pass takes well below a millisecond. */
#define EVENTS_PER_PASS   64
#define ARRIVALS_PER_PASS 32
#define THINKERS_PER_PASS 32

/* The kernel may end a wait late by a thousandth of its length (select_estimate_accuracy in fs/select.c):
 * this bounds the delay to 100 us. It also bounds the time until a signal that came just before the wait is
 * seen. */
#define WAIT_MAX_NS (100 * NS_PER_MS)

#define PROGRESS_INTERVAL_NS NS_PER_S

/* What changes from pass to pass. */
struct pass_state {
    struct arrivals arrivals;
    uint64_t duration_ns;
    uint64_t last_progress_ns;
    uint64_t next_progress_ns;
};

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

static uint64_t cpu_time_ns(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
}

static bool arrivals_over(const struct pass_state *state)
{
    return arrivals_next_ns(&state->arrivals) >= state->duration_ns;
}

/* Starts sessions whose moment has come. */
static void start_arrivals(const struct open_loop *loop, struct pass_state *state)
{
    uint32_t session_count = loop->all->plan->session_count;

    for (unsigned started = 0; started < ARRIVALS_PER_PASS && !arrivals_over(state); started++) {
        uint64_t intended_ns = loop->start_ns + arrivals_next_ns(&state->arrivals);
        if (intended_ns > clock_now_ns())
            return;
        connections_start(loop->all, (uint32_t)(state->arrivals.index % session_count), intended_ns);
        arrivals_advance(&state->arrivals);
    }
}

static void report_if_due(const struct open_loop *loop, struct pass_state *state, uint64_t now_ns)
{
    struct account *account = &loop->all->account;
    struct progress progress = {
        .elapsed_s = seconds(now_ns - loop->start_ns),
        .interval_s = seconds(now_ns - state->last_progress_ns),
        .sessions_open = loop->all->open,
        .account = account,
    };

    if (now_ns < state->next_progress_ns)
        return;
    if (loop->options->text)
        report_progress_text(loop->out, &progress);
    else
        report_progress(loop->out, &progress);
    fflush(loop->out);
    account_begin_interval(account);
    state->last_progress_ns = now_ns;
    while (state->next_progress_ns <= now_ns)
        state->next_progress_ns += PROGRESS_INTERVAL_NS;
}

/* Waits until something is due or a socket has news, and handles the news. */
static void wait_and_handle(const struct open_loop *loop, const struct pass_state *state)
{
    struct epoll_event events[EVENTS_PER_PASS];
    uint64_t due_ns = connections_due_ns(loop->all);
    uint64_t now_ns = clock_now_ns();

    if (state->next_progress_ns < due_ns)
        due_ns = state->next_progress_ns;
    if (!arrivals_over(state) && loop->start_ns + arrivals_next_ns(&state->arrivals) < due_ns)
        due_ns = loop->start_ns + arrivals_next_ns(&state->arrivals);
    uint64_t wait_ns = due_ns > now_ns ? due_ns - now_ns : 0;
    if (wait_ns > WAIT_MAX_NS)
        wait_ns = WAIT_MAX_NS;

    struct timespec timeout = {.tv_nsec = (long)wait_ns};
    int count = epoll_pwait2(loop->all->epoll, events, EVENTS_PER_PASS, &timeout, NULL);
    for (int i = 0; i < count; i++)
        connection_handle(loop->all, events[i].data.ptr, events[i].events);
}

struct open_loop_end open_loop_run(const struct open_loop *loop)
{
    const struct options *options = loop->options;
    struct connections *all = loop->all;
    struct pass_state state = {
        .duration_ns = clock_seconds_to_ns(options->duration_s),
        .last_progress_ns = loop->start_ns,
        .next_progress_ns = loop->start_ns + PROGRESS_INTERVAL_NS,
    };
    uint64_t cpu_at_start_ns = cpu_time_ns();
    uint64_t offering_ns = 0, offering_cpu_ns = 0;
    uint64_t now_ns;

    arrivals_init(&state.arrivals, options->rate_rps / sessions_mean_length(all->plan), options->poisson,
                  options->seed);
    for (;;) {
        start_arrivals(loop, &state);
        now_ns = clock_now_ns();
        connections_wake(all, now_ns, THINKERS_PER_PASS);
        connections_expire(all, now_ns);
        report_if_due(loop, &state, now_ns);
        if (offering_ns == 0 && (arrivals_over(&state) || *loop->signal_number != 0)) {
            offering_ns = now_ns - loop->start_ns;
            offering_cpu_ns = cpu_time_ns() - cpu_at_start_ns;
        }
        if (*loop->signal_number != 0 || (arrivals_over(&state) && all->open == 0))
            break;
        wait_and_handle(loop, &state);
    }
    connections_interrupt(all);
    return (struct open_loop_end){
        .end_ns = clock_now_ns(),
        .cpu_share = (double)offering_cpu_ns / (double)offering_ns,
    };
}
