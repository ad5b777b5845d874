/*
 * SMPED, symmetric multi-process event-driven with a scheduler: one process accepts all connections and hands
 * each to one of a pool of SPEDs; how many of the pool get connections follows the throughput.
 *
 * The scheduler is process `workers`, behind the SPEDs. Once a second it compares the bytes that all of them
 * sent with those of the second before. While more SPEDs bring more, or fewer do no harm, it goes on in the
 * same direction, otherwise it turns round. A SPED that is out of the pool gets no connections; it serves
 * those that it has to their end and then sleeps.
 *
 * A connection goes to the SPED of the pool that has the fewest. Those that a SPED has are known from its
 * counters, and from what was handed to it since.
 */
#include "httpd/arch/architectures.h"
#include "httpd/arch/event_loop.h"
#include "httpd/arch/handover.h"
#include "httpd/connection/accept_policy.h"
#include "httpd/connection/connection.h"
#include "httpd/connection/worker.h"
#include "httpd/log.h"
#include "httpd/process/master.h"

#include "common/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define INTERVAL_NS   NS_PER_S /* between two decisions */
#define WORTH_IT      0.02     /* a change of throughput that is more than noise */
#define UNDER_WAY_MAX 64       /* connections in the channel to a SPED; it holds some three times as many */
#define EVENTS_MAX    64
#define BACK_OFF_NS   (100 * NS_PER_MS)

static const enum knob_id UNDERSTOOD[] = {
    KNOB_EVENTS,        KNOB_SENDFILE,          KNOB_MAX_CONNECTIONS, KNOB_ACCEPT_LIMIT, KNOB_AFFINITY,
    KNOB_CACHE_ENTRIES, KNOB_KEEPALIVE_TIMEOUT, KNOB_REQUEST_TIMEOUT, KNOB_WORKERS,      KNOB_COUNT,
};

struct common {
    struct handover channels[1024]; /* to each SPED */
};

struct scheduler {
    struct worker *worker;
    const struct common *common;
    int epoll;
    bool listening;
    uint64_t back_off_until_ns;
    unsigned pool, size; /* SPEDs that get connections, of how many */
    int direction;       /* +1: the pool was made larger, -1: smaller */
    uint64_t decided_ns, bytes_sent, throughput;
    uint64_t handed[1024]; /* connections ever, to each SPED */
    unsigned asked;        /* the SPED that was last asked to close an idle connection */
};

static void lay_out(const struct config *config, struct layout *layout)
{
    const unsigned speds = (unsigned)config_integer(config, KNOB_WORKERS);

    *layout = (struct layout){
        .processes = speds + 1,
        .rows = speds + 1,
        .serving = speds,
        .descriptor_tables = 1, /* when the pool has shrunk to one, that one may have all connections */
        .listener_sets = 1,
    };
}

static struct row_description describe_row(const struct config *config, unsigned row)
{
    const bool scheduler = row == (unsigned)config_integer(config, KNOB_WORKERS);

    return (struct row_description){
        .role = scheduler ? "scheduler" : "worker", .process = row, .cpu_position = row};
}

static bool prepare(struct master *master)
{
    struct common *common = calloc(1, sizeof(*common));

    master->common = common;
    for (unsigned i = 0; common && i < master->layout.serving; i++) {
        if (handover_open(&common->channels[i]) != 0) {
            log_errno("cannot make a channel to worker %u", i);
            return false;
        }
    }
    return common != NULL;
}

static void release(struct master *master)
{
    const struct common *common = master->common;

    for (unsigned i = 0; common && i < master->layout.serving; i++)
        handover_close(&common->channels[i]);
}

/* Returns a counter of SPED `sped` in total over its lives. */
#define READ(scheduler, sped, metric)                                                                        \
    __atomic_load_n(&scoreboard_counters((scheduler)->worker->scoreboard, sped)->metric, __ATOMIC_RELAXED)

/* Connections that have ended, or were lost, in SPED `sped`. */
static uint64_t closed(const struct scheduler *scheduler, unsigned sped)
{
    return READ(scheduler, sped, connections_closed_by_client) +
           READ(scheduler, sped, connections_closed_by_server) + READ(scheduler, sped, connections_timed_out);
}

static int64_t open_in(const struct scheduler *scheduler, unsigned sped)
{
    return (int64_t)(scheduler->handed[sped] - closed(scheduler, sped));
}

/* Says whether the channel has room: a SPED that is held by a disk does not empty it, and a connection that
 * has been accepted must go somewhere. */
static bool takes_more(const struct scheduler *scheduler, unsigned sped)
{
    return open_in(scheduler, sped) - (int64_t)READ(scheduler, sped, connections_open) < UNDER_WAY_MAX;
}

static uint64_t bytes_sent_by_all(const struct scheduler *scheduler)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < scheduler->size; i++)
        bytes += __atomic_load_n(&scoreboard_counters(scheduler->worker->scoreboard, i)->bytes_sent,
                                 __ATOMIC_RELAXED);
    return bytes;
}

/* Returns the SPED of the pool that has the fewest connections and takes more, or `size` if there is none. */
static unsigned choose(const struct scheduler *scheduler)
{
    unsigned best = scheduler->size;

    for (unsigned i = 0; i < scheduler->pool; i++) {
        if (takes_more(scheduler, i) &&
            (best == scheduler->size || open_in(scheduler, i) < open_in(scheduler, best)))
            best = i;
    }
    return best;
}

static bool is_full(const struct scheduler *scheduler)
{
    int64_t open = 0;

    for (unsigned i = 0; i < scheduler->size; i++)
        open += open_in(scheduler, i);
    return open >= worker_connections_in_all(scheduler->worker);
}

/* Returns the SPED that gets the next connection, or `size` if none can be accepted now. */
static unsigned receiver(const struct scheduler *scheduler)
{
    const struct worker *worker = scheduler->worker;

    if (worker->shutting_down || worker->now_ns < scheduler->back_off_until_ns || is_full(scheduler))
        return scheduler->size;
    return choose(scheduler);
}

/* Has the SPEDs, one after the other, close what is idle while all places are taken and clients wait. */
static void ask_for_places(struct scheduler *scheduler)
{
    const struct worker *worker = scheduler->worker;
    uint32_t waiting = 0;

    if (!is_full(scheduler))
        return;
    for (size_t i = 0; i < worker->listener_count; i++)
        waiting += accept_policy_waiting(worker->listeners[i]);
    for (unsigned i = 0; i < scheduler->size && waiting > 0; i++, waiting--) {
        scheduler->asked = (scheduler->asked + 1) % scheduler->size;
        handover_ask_for_place(&scheduler->common->channels[scheduler->asked]);
    }
}

/* Resizes the pool once per interval. */
static void resize(struct scheduler *scheduler)
{
    const uint64_t now_ns = scheduler->worker->now_ns, bytes = bytes_sent_by_all(scheduler);
    const uint64_t passed_ns = now_ns - scheduler->decided_ns;
    uint64_t throughput;
    double gain;

    if (passed_ns < INTERVAL_NS)
        return;
    throughput = (uint64_t)((double)(bytes - scheduler->bytes_sent) / (double)passed_ns * 1e9);
    gain = (double)throughput / (double)(scheduler->throughput ? scheduler->throughput : 1) - 1;
    scheduler->decided_ns = now_ns;
    scheduler->bytes_sent = bytes;
    scheduler->throughput = throughput;
    if (throughput == 0)
        return; /* nobody asks for anything: nothing can be learnt */
    /* More processes must pay; fewer need only do no harm. */
    if (scheduler->direction > 0 ? gain < WORTH_IT : gain < -WORTH_IT)
        scheduler->direction = -scheduler->direction;
    if (scheduler->direction > 0 && scheduler->pool < scheduler->size)
        scheduler->pool++;
    else if (scheduler->direction < 0 && scheduler->pool > 1)
        scheduler->pool--;
    scheduler->worker->counters->pool_size = scheduler->pool;
}

static void update_listening(struct scheduler *scheduler)
{
    const struct worker *worker = scheduler->worker;
    const bool wanted = receiver(scheduler) < scheduler->size;

    if (wanted == scheduler->listening)
        return;
    for (size_t i = 0; i < worker->listener_count; i++) {
        struct epoll_event event = {.events = wanted ? EPOLLIN : 0, .data.fd = worker->listeners[i]};

        if (epoll_ctl(scheduler->epoll, EPOLL_CTL_MOD, worker->listeners[i], &event) != 0)
            log_errno("cannot watch a listener");
    }
    scheduler->listening = wanted;
}

/* Who gets a connection is chosen before it is accepted: afterwards it may be that nobody takes more, for the
 * counters of the SPEDs move on. */
static void accept_phase(struct scheduler *scheduler, int listener)
{
    struct worker *worker = scheduler->worker;
    const bool blocking = worker->sendfile == SENDFILE_BLOCKING;
    unsigned sped;

    worker->counters->accept_phases++;
    for (int64_t accepted = 0;
         accepted < worker->accept_limit && (sped = receiver(scheduler)) < scheduler->size; accepted++) {
        const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | (blocking ? 0 : SOCK_NONBLOCK));

        worker->counters->accept_calls++;
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
                log_errno("cannot accept connections");
                scheduler->back_off_until_ns = worker->now_ns + BACK_OFF_NS;
            }
            return;
        }
        worker->counters->connections_accepted++;
        if (handover_send(&scheduler->common->channels[sped], fd, blocking, NULL, 0)) {
            worker->counters->connections_forwarded++;
            scheduler->handed[sped]++;
        } else {
            log_errno("cannot hand a connection to worker %u", sped);
            worker->counters->connections_closed_by_server++;
            scheduler->back_off_until_ns = worker->now_ns + BACK_OFF_NS;
        }
        close(fd);
    }
}

static bool open_scheduler(struct scheduler *scheduler)
{
    struct worker *worker = scheduler->worker;
    struct epoll_event event = {.events = EPOLLIN, .data.fd = worker->wake_fd};

    scheduler->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (scheduler->epoll < 0 || epoll_ctl(scheduler->epoll, EPOLL_CTL_ADD, worker->wake_fd, &event) != 0)
        return false;
    for (size_t i = 0; i < worker->listener_count; i++) {
        event = (struct epoll_event){.events = 0, .data.fd = worker->listeners[i]};
        if (epoll_ctl(scheduler->epoll, EPOLL_CTL_ADD, worker->listeners[i], &event) != 0)
            return false;
    }
    /* If another scheduler was here before, the SPEDs have connections already. */
    for (unsigned i = 0; i < scheduler->size; i++)
        scheduler->handed[i] =
            closed(scheduler, i) + scoreboard_counters(worker->scoreboard, i)->connections_open;
    worker_refresh(worker);
    scheduler->decided_ns = worker->now_ns;
    scheduler->bytes_sent = bytes_sent_by_all(scheduler);
    worker->counters->pool_size = scheduler->pool;
    return true;
}

static int run_scheduler(struct worker *worker)
{
    static struct scheduler scheduler;
    struct epoll_event events[EVENTS_MAX];
    uint64_t drained;

    scheduler = (struct scheduler){
        .worker = worker,
        .common = worker->common,
        .size = worker->layout.serving,
        .pool = (worker->layout.serving + 1) / 2,
        .direction = 1,
    };
    if (!open_scheduler(&scheduler)) {
        log_errno("cannot watch the listeners");
        return EXIT_RUNTIME;
    }
    while (!worker->shutting_down) {
        int count;

        update_listening(&scheduler);
        /* A full or resting server looks again soon: nothing tells the scheduler that a connection ended. */
        count = epoll_wait(scheduler.epoll, events, EVENTS_MAX, scheduler.listening ? 1000 : 10);
        worker->counters->event_calls++;
        worker->counters->events_returned += count > 0 ? (uint64_t)count : 0;
        worker_refresh(worker);
        for (int i = 0; i < count; i++) {
            if (events[i].data.fd != worker->wake_fd)
                accept_phase(&scheduler, events[i].data.fd);
            else if (read(worker->wake_fd, &drained, sizeof(drained)) < 0 && errno != EAGAIN)
                log_errno("cannot read the wake-up");
        }
        ask_for_places(&scheduler);
        resize(&scheduler);
    }
    for (unsigned i = 0; i < scheduler.size; i++)
        handover_end(&scheduler.common->channels[i]);
    close(scheduler.epoll);
    return EXIT_SUCCESS;
}

static const struct driver driver = {
    .connection_bytes = sizeof(struct connection),
    .fresh_bytes = sizeof(struct connection),
    .expects_more = handover_expects_more,
};

static int run(struct worker *worker)
{
    const struct common *common = worker->common;

    if (worker->process == worker->layout.serving)
        return run_scheduler(worker);
    worker->listener_count = 0;
    handover_expect(worker, &common->channels[worker->process], 1, NULL);
    return event_loop_run(worker);
}

const struct architecture architecture_smped = {
    .name = "smped",
    .help = "a scheduler that hands connections to a pool of event loops, resized by throughput",
    .knobs = UNDERSTOOD,
    .lay_out = lay_out,
    .describe_row = describe_row,
    .prepare = prepare,
    .release = release,
    .driver = &driver,
    .run = run,
};
