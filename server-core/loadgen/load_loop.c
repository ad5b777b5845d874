/*
 * See load_loop.h.
 */
#include "load_loop.h"

#include "arrivals.h"
#include "common/clock.h"
#include "open_sessions.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Each costs some 5 to 15 us, so a pass takes well below a millisecond. */
#define EVENTS_PER_PASS   64
#define STARTS_PER_PASS   32
#define THINKERS_PER_PASS 32

/* How long it may take until `stop` is seen. */
#define WAIT_MAX_NS (100 * NS_PER_MS)

/* The closed loop pauses this long before it replaces a session that was broken off: a server that refuses
 * every connection is asked a hundred times a second per connection, and not as fast as the CPU can. */
#define RETRY_NS (10 * NS_PER_MS)

/* What changes from pass to pass. */
struct pass_state {
    uint64_t end_ns; /* of the duration */
    struct arrivals arrivals;
    uint64_t timer_ns; /* when the timer goes off, or has */
    /* The closed loop: */
    uint64_t connections; /* this worker's share */
    uint64_t next_session;
    uint64_t pauses_over; /* sessions that were broken off and may be replaced */
    uint64_t retry_ns;    /* when the others may */
};

static uint64_t cpu_time_ns(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
}

static uint64_t next_arrival_ns(const struct load_loop *loop, const struct pass_state *state)
{
    return loop->start_ns + arrivals_next_ns(&state->arrivals);
}

/* Whether no session will start any more. */
static bool starting_over(const struct load_loop *loop, const struct pass_state *state, uint64_t now_ns)
{
    uint64_t next_ns = loop->options->mode == MODE_OPEN ? next_arrival_ns(loop, state) : now_ns;
    return next_ns >= state->end_ns;
}

/* Counts when the requests of a session that begins at `moment_ns` are due: what a server that keeps nobody
 * waiting would be asked. Pauses that are drawn, and not in the log, count as none. */
static void count_due(const struct connections *all, uint32_t session, uint64_t moment_ns)
{
    const struct planned_request *planned = all->plan->requests + session_first(all->plan, session);

    for (uint32_t i = 0; i < session_length(all->plan, session); i++) {
        account_due(all->account, moment_ns);
        moment_ns += planned[i].think_us * NS_PER_US;
    }
}

/* The open loop: starts sessions whose moment has come. */
static void start_arrivals(const struct load_loop *loop, struct pass_state *state, uint64_t now_ns)
{
    uint32_t session_count = loop->all->plan->session_count;

    for (unsigned started = 0; started < STARTS_PER_PASS; started++) {
        uint64_t intended_ns = next_arrival_ns(loop, state);
        if (intended_ns > now_ns || intended_ns >= state->end_ns)
            return;
        uint32_t session = (uint32_t)(state->arrivals.index % session_count);
        count_due(loop->all, session, intended_ns);
        connections_start(loop->all, session, intended_ns);
        for (unsigned i = 0; i < loop->workers; i++)
            arrivals_advance(&state->arrivals);
    }
}

/* The closed loop: sessions that were broken off and are not to be replaced yet. */
static uint64_t pausing(const struct load_loop *loop, const struct pass_state *state)
{
    return loop->all->broken_off - state->pauses_over;
}

/* The closed loop: replaces sessions that have ended. */
static void replace_ended(const struct load_loop *loop, struct pass_state *state, uint64_t now_ns)
{
    struct connections *all = loop->all;

    if (now_ns < loop->start_ns)
        return;
    if (now_ns >= state->end_ns) {
        all->stopping = true;
        return;
    }
    if (pausing(loop, state) > 0 && now_ns >= state->retry_ns) {
        state->pauses_over = all->broken_off;
        state->retry_ns = now_ns + RETRY_NS;
    }
    for (unsigned started = 0; started < STARTS_PER_PASS; started++) {
        if (all->open + pausing(loop, state) >= state->connections)
            return;
        connections_start(all, (uint32_t)(state->next_session % all->plan->session_count), clock_now_ns());
        state->next_session += loop->workers;
    }
}

/* When the loop itself has something to start or to end; TIMER_NEVER when not. */
static uint64_t start_due_ns(const struct load_loop *loop, const struct pass_state *state, uint64_t now_ns)
{
    if (starting_over(loop, state, now_ns))
        return TIMER_NEVER;
    if (loop->options->mode == MODE_OPEN)
        return next_arrival_ns(loop, state);
    if (now_ns < loop->start_ns)
        return loop->start_ns;
    if (loop->all->open + pausing(loop, state) < state->connections)
        return 0; /* more than fit into one pass */
    return pausing(loop, state) > 0 && state->retry_ns < state->end_ns ? state->retry_ns : state->end_ns;
}

int load_loop_make_timer(int epoll)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET}; /* without a connection */
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);

    if (timer >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event) < 0) {
        close(timer);
        return -1;
    }
    return timer;
}

/* Has the timer go off by `due_ns`. It stays as it is when it will do so earlier: the loop then waits again.
 */
static void set_timer(const struct load_loop *loop, struct pass_state *state, uint64_t due_ns,
                      uint64_t now_ns)
{
    if (state->timer_ns > now_ns && state->timer_ns <= due_ns)
        return;
    struct itimerspec moment = {
        .it_value = {.tv_sec = (time_t)(due_ns / NS_PER_S), .tv_nsec = (long)(due_ns % NS_PER_S)}};
    timerfd_settime(loop->timer, TFD_TIMER_ABSTIME, &moment, NULL);
    state->timer_ns = due_ns;
}

/* Waits until something is due or a socket has news, and handles the news. `now_ns` is the beginning of the
 * pass: what has become due since then is so at once, as the timer goes by the clock. */
static void wait_and_handle(const struct load_loop *loop, struct pass_state *state, uint64_t now_ns)
{
    struct epoll_event events[EVENTS_PER_PASS];
    uint64_t due_ns = connections_due_ns(loop->all);
    uint64_t start_ns = start_due_ns(loop, state, now_ns);

    due_ns = start_ns < due_ns ? start_ns : due_ns;
    if (due_ns > now_ns + WAIT_MAX_NS)
        due_ns = now_ns + WAIT_MAX_NS;
    if (due_ns > now_ns)
        set_timer(loop, state, due_ns, now_ns);
    int count = epoll_wait(loop->all->epoll, events, EVENTS_PER_PASS, due_ns > now_ns ? -1 : 0);
    for (int i = 0; i < count; i++)
        if (events[i].data.ptr != NULL)
            connection_handle(loop->all, events[i].data.ptr, events[i].events);
}

static void begin(const struct load_loop *loop, struct pass_state *state)
{
    const struct options *options = loop->options;

    *state = (struct pass_state){
        .end_ns = loop->start_ns + clock_seconds_to_ns(options->duration_s),
        .connections = options->connections / loop->workers +
                       (loop->worker < options->connections % loop->workers ? 1 : 0),
        .next_session = loop->worker,
    };
    if (options->mode == MODE_CLOSED)
        return;
    arrivals_init(&state->arrivals, options->arrivals, loop->trace,
                  options->rate_rps / sessions_mean_length(loop->all->plan), options->seed);
    for (unsigned i = 0; i < loop->worker; i++)
        arrivals_advance(&state->arrivals);
}

/* The CPU time since `cpu_at_start_ns`, as a share of the time until now. A run whose sessions have all ended
 * before the duration is over could have waited for that end. */
static double share_of_cpu(const struct load_loop *loop, const struct pass_state *state,
                           uint64_t cpu_at_start_ns, uint64_t now_ns)
{
    uint64_t until_ns = !*loop->stop && now_ns < state->end_ns ? state->end_ns : now_ns;

    if (until_ns <= loop->start_ns)
        return 0;
    return (double)(cpu_time_ns() - cpu_at_start_ns) / (double)(until_ns - loop->start_ns);
}

struct load_loop_end load_loop_run(const struct load_loop *loop)
{
    struct connections *all = loop->all;
    struct pass_state state;
    uint64_t cpu_at_start_ns = cpu_time_ns();
    double cpu_share = -1;

    begin(loop, &state);
    for (;;) {
        uint64_t now_ns = clock_now_ns();
        if (loop->options->mode == MODE_OPEN)
            start_arrivals(loop, &state, now_ns);
        else
            replace_ended(loop, &state, now_ns);
        connections_wake(all, now_ns, THINKERS_PER_PASS);
        connections_expire(all, now_ns);
        bool over = *loop->stop || starting_over(loop, &state, now_ns);
        bool ended = *loop->stop || (over && all->open == 0);
        if (cpu_share < 0 && (ended || now_ns >= state.end_ns))
            cpu_share = share_of_cpu(loop, &state, cpu_at_start_ns, now_ns);
        if (ended)
            break;
        wait_and_handle(loop, &state, now_ns);
    }
    connections_interrupt(all);
    return (struct load_loop_end){.end_ns = clock_now_ns(), .cpu_share = cpu_share};
}
