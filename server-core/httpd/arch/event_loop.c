/*
 * See event_loop.h.
 *
 * LISTENERS. The listening sockets are in the event set only while the worker can accept; one that is full,
 * or that backs off, takes them out, and calls others when it leaves a client waiting (listening.h). They are
 * watched by level: what accept_limit left in the queue is reported again.
 *
 * A full worker listens all the same while all others are full too and it has a connection that may give way
 * (recycle.h).
 *
 * The kernel wakes exclusive waiters in the order in which they came, so the first worker would get nearly
 * all connections of a lightly loaded server. After some accepts a worker goes to the end of the line.
 */
#include "httpd/arch/event_loop.h"

#include "common/clock.h"
#include "httpd/arch/listening.h"
#include "httpd/connection/accept_policy.h"
#include "httpd/connection/connection.h"
#include "httpd/connection/recycle.h"
#include "httpd/connection/sending.h"
#include "httpd/connection/serving.h"
#include "httpd/log.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS_MAX       1024
#define TURNS_MAX        16                /* replies that go on, after those that have begun */
#define ACCEPTS_PER_TURN 16                /* then the next worker in line is first */
#define BACK_OFF_NS      (100 * NS_PER_MS) /* when descriptors or memory have run out */
#define SHED_FILES       16                /* cached files closed to make room for connections */

/* Tags of what is not a connection; connections are aligned, so their tags end in three zero bits. */
#define TAG_WAKE            UINT64_C(1)
#define TAG_LISTENER(index) ((uint64_t)(index) << 3 | 2)
#define TAG_SOURCE(index)   ((uint64_t)(index) << 3 | 3)
#define IS_SOURCE(tag)      (((tag) & 7) == 3)
#define IS_LISTENER(tag)    (((tag) & 7) == 2)
#define LISTENER_OF(tag)    ((size_t)((tag) >> 3))

struct event_loop {
    struct worker *worker;
    struct listening listening;
    bool any_ready; /* the last wait reported a listener */
    uint32_t work;  /* connections that it reported */
    struct event events[EVENTS_MAX];
    int event_count; /* reported, and connections that have been accepted since */
    bool ready[KNOB_ELEMENTS_MAX];
    unsigned accepts;           /* since the listeners were put into the set */
    size_t first_listener;      /* where the next accept phase begins */
    uint64_t back_off_until_ns; /* no accepts before */
    uint64_t said_ns;           /* when a failure was last logged */
    struct recycling recycling;
};

static bool is_full(const struct worker *worker)
{
    return (int64_t)worker->counters->connections_open >= worker->max_connections;
}

static bool can_accept(struct event_loop *loop)
{
    struct worker *worker = loop->worker;

    return !worker->shutting_down && worker->now_ns >= loop->back_off_until_ns &&
           (!is_full(worker) || recycling_is_possible(&loop->recycling, worker));
}

void event_loop_back_off(struct event_loop *loop, const char *what)
{
    const uint64_t now_ns = loop->worker->now_ns;

    if (loop->said_ns == 0 || now_ns - loop->said_ns >= NS_PER_S) {
        log_errno("%s (trying again every %d ms)", what, (int)(BACK_OFF_NS / NS_PER_MS));
        loop->said_ns = now_ns;
    }
    loop->back_off_until_ns = now_ns + BACK_OFF_NS;
}

static void remove_listeners(struct event_loop *loop, size_t count)
{
    const struct worker *worker = loop->worker;

    for (size_t i = 0; i < count; i++)
        worker->mechanism->remove_listener(worker->events, worker->listeners[i]);
}

/* All of them or none. Returns which. */
static bool add_listeners(struct event_loop *loop)
{
    const struct worker *worker = loop->worker;

    loop->accepts = 0;
    for (size_t i = 0; i < worker->listener_count; i++) {
        if (worker->mechanism->add_listener(worker->events, worker->listeners[i], TAG_LISTENER(i)) != 0) {
            event_loop_back_off(loop, "cannot watch a listener");
            remove_listeners(loop, i);
            return false;
        }
    }
    return true;
}

static bool clients_wait(const struct worker *worker)
{
    struct pollfd polled[KNOB_ELEMENTS_MAX];

    for (size_t i = 0; i < worker->listener_count; i++)
        polled[i] = (struct pollfd){.fd = worker->listeners[i], .events = POLLIN};
    return poll(polled, worker->listener_count, 0) > 0;
}

static void announce(const struct worker *worker, bool listens)
{
    *scoreboard_listens(worker->scoreboard, worker_shared_row(worker, worker->row)) = listens;
}

/* Calls the workers that listen where this one does. EAGAIN means that a wake-up is pending already. */
static void call_others(const struct worker *worker)
{
    const unsigned parts = worker->layout.parts;

    for (unsigned row = worker->row % parts; row < worker->layout.serving; row += parts) {
        if (row != worker->row && *scoreboard_listens(worker->scoreboard, worker_shared_row(worker, row)) &&
            eventfd_write(worker->wake_fds[row], 1) != 0 && errno != EAGAIN)
            log_errno("cannot call another worker");
    }
}

static bool take_step(struct event_loop *loop, enum listening_step step)
{
    switch (step) {
    case LISTENING_ANNOUNCE:
    case LISTENING_RETRACT:
        announce(loop->worker, step == LISTENING_ANNOUNCE);
        return true;
    case LISTENING_ADD:
        return add_listeners(loop);
    case LISTENING_REMOVE:
        remove_listeners(loop, loop->worker->listener_count);
        return true;
    case LISTENING_LOOK:
        return clients_wait(loop->worker);
    case LISTENING_PASS_ON:
        call_others(loop->worker);
        return true;
    case LISTENING_STAYS:
        break;
    }
    return false;
}

/* Has the listeners in the set if, and only if, the worker can accept. */
static void update_listening(struct event_loop *loop)
{
    enum listening_step step;

    if (loop->worker->layout.serving > 1 && loop->accepts >= ACCEPTS_PER_TURN)
        loop->listening.anew = true; /* to the end of the line */
    while ((step = listening_next(&loop->listening, can_accept(loop))) != LISTENING_STAYS)
        listening_done(&loop->listening, step, take_step(loop, step));
}

static void retire(void *user, struct timer *timer);

/* Closes idle connections until none is one too many. One for which a request has come meanwhile is served
 * instead, so there may be none to be had; then the worker has one too many for a while. Events of a
 * connection that is closed here may reach the next one in its structure, which then looks in vain. */
static void make_place(struct event_loop *loop)
{
    struct worker *worker = loop->worker;
    struct connection *connection;

    while ((int64_t)worker->counters->connections_open > worker->max_connections &&
           (connection = recycle_choose(worker, NULL, NULL)) != NULL)
        retire(worker, &connection->timer);
    recycling_look(&loop->recycling, worker);
}

/* Has a new connection worked on in this turn: most have asked by the time that they are accepted, and one
 * that ends with its reply need not be watched at all. Where there is no room it is watched. */
static void take_in(struct event_loop *loop, struct connection *connection)
{
    if (!connection)
        return;
    if (loop->event_count < EVENTS_MAX)
        loop->events[loop->event_count++] =
            (struct event){.tag = connection_tag(connection), .flags = EVENT_READABLE};
    else
        connection_watch(loop->worker, connection);
}

bool event_loop_accept(struct event_loop *loop, int listener, struct connection **connection)
{
    struct worker *worker = loop->worker;
    const bool blocking = worker->sendfile == SENDFILE_BLOCKING;
    const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | (blocking ? 0 : SOCK_NONBLOCK));

    *connection = NULL;
    worker->counters->accept_calls++;
    if (fd >= 0) {
        loop->accepts++;
        *connection = connection_open(worker, fd, blocking);
        take_in(loop, *connection);
        return true;
    }
    switch (errno) {
    case EAGAIN:
        return false;
    case EMFILE:
        if (file_cache_shed(worker->cache, SHED_FILES) > 0)
            return true; /* there are descriptors again */
        errno = EMFILE;
        event_loop_back_off(loop, "cannot accept connections");
        return false;
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
        event_loop_back_off(loop, "cannot accept connections");
        file_cache_shed(worker->cache, SHED_FILES);
        return false;
    default:
        /* The connection was lost before we got to it (accept(2), "Error handling"); if others wait, the
         * listener is reported again. */
        return false;
    }
}

/* Has one connection accepted, and a place made for it if all are taken. Returns false when the phase should
 * not go on with this listener. */
static bool accept_one(struct event_loop *loop, int listener)
{
    struct worker *worker = loop->worker;
    struct connection *connection;
    const bool goes_on = worker->driver->accept ? worker->driver->accept(worker, loop, listener)
                                                : event_loop_accept(loop, listener, &connection);

    if ((int64_t)worker->counters->connections_open > worker->max_connections)
        make_place(loop);
    return goes_on;
}

/* Accepts up to `limit` connections from a listener. Returns how many. */
static int64_t accept_from(struct event_loop *loop, int listener, int64_t limit)
{
    const uint64_t before = loop->worker->counters->connections_accepted;
    int64_t accepted = 0;

    while (accepted < limit && can_accept(loop) && accept_one(loop, listener))
        accepted = (int64_t)(loop->worker->counters->connections_accepted - before);
    return accepted;
}

static void accept_phase(struct event_loop *loop)
{
    struct worker *worker = loop->worker;
    int64_t left = worker->accept_limit;

    worker->counters->accept_phases++;
    if (is_full(worker))
        recycling_look(&loop->recycling, worker);
    for (size_t i = 0; i < worker->listener_count; i++) {
        const size_t index = (loop->first_listener + i) % worker->listener_count;
        const int listener = worker->listeners[index];

        if (!loop->ready[index])
            continue;
        loop->ready[index] = false;
        if (worker->accept_limit == KNOB_AUTO)
            accept_from(loop, listener, accept_policy_balance_listener(listener, loop->work));
        else
            left -= accept_from(loop, listener, left);
    }
    loop->first_listener = (loop->first_listener + 1) % worker->listener_count;
}

/* For good. Somebody else goes on to listen, unless all is to end: then what is in the queues is accepted,
 * for its arrival may have woken this worker instead of that one. That is so of one client at each listener
 * at most, who is taken even if there is no place. */
static void stop_listening(struct event_loop *loop)
{
    struct worker *worker = loop->worker;

    update_listening(loop); /* who is shutting down cannot accept */
    for (size_t i = 0; i < worker->listener_count && !worker->closing_idle; i++) {
        while (accept_one(loop, worker->listeners[i]) && !is_full(worker)) {
        }
    }
}

static void run(struct worker *worker, struct connection *connection, uint32_t flags)
{
    if (worker->driver->deliver)
        worker->driver->deliver(worker, connection, flags);
    else
        serving_run(worker, connection, flags);
}

/* A reply that has begun goes on when it is its turn. */
static void work(struct worker *worker, struct connection *connection, uint32_t flags)
{
    if (connection->state == SENDING && flags & EVENT_WRITABLE) {
        turns_append(&worker->turns, &connection->turn);
        flags &= ~(uint32_t)EVENT_WRITABLE;
    }
    if (flags)
        run(worker, connection, flags);
}

static void work_phase(struct event_loop *loop)
{
    const struct event *events = loop->events;
    struct worker *worker = loop->worker;
    uint64_t drained;

    for (int i = 0; i < loop->event_count; i++) {
        if (IS_LISTENER(events[i].tag))
            continue;
        if (events[i].tag == TAG_WAKE) {
            if (read(worker->wake_fd, &drained, sizeof(drained)) < 0 && errno != EAGAIN)
                log_errno("cannot read the wake-up");
            loop->listening.anew = true; /* a client may wait whom somebody else did not take */
            continue;
        }
        if (IS_SOURCE(events[i].tag)) {
            worker->sources[events[i].tag >> 3].ready(worker);
            continue;
        }
        work(worker, connection_of_tag(events[i].tag), events[i].flags);
    }
}

/* Goes on with some of the replies that could, at least with one. */
static void sending_phase(struct worker *worker)
{
    const uint64_t sent_before = worker->counters->bytes_sent;
    struct turn *turn;

    for (int i = 0; i < TURNS_MAX && worker->counters->bytes_sent - sent_before < PASS_BYTES &&
                    (turn = turns_take(&worker->turns)) != NULL;
         i++)
        run(worker, connection_of_turn(turn), EVENT_WRITABLE);
}

static void expired(void *user, struct timer *timer)
{
    struct worker *worker = user;

    if (worker->driver->deliver)
        worker->driver->deliver(worker, connection_of_timer(timer), DELIVER_EXPIRED);
    else
        serving_expired(worker, timer);
}

static void retire(void *user, struct timer *timer)
{
    struct worker *worker = user;

    if (worker->driver->deliver)
        worker->driver->deliver(worker, connection_of_timer(timer), DELIVER_RETIRE);
    else
        serving_retire(worker, timer);
}

/* Returns the shorter of two waits; `until_ns` may be over, then it does not count. */
static int earlier_ms(const struct worker *worker, int timeout_ms, uint64_t until_ns)
{
    const int until_ms = (int)((until_ns - worker->now_ns) / NS_PER_MS) + 1;

    return until_ns > worker->now_ns && (timeout_ms < 0 || until_ms < timeout_ms) ? until_ms : timeout_ms;
}

static int wait_ms(const struct event_loop *loop)
{
    const struct worker *worker = loop->worker;
    int timeout_ms = timers_wait_ms(&worker->timers, worker->now_ns);

    if (worker->turns.first)
        return 0;
    timeout_ms = earlier_ms(worker, timeout_ms, loop->back_off_until_ns);
    if (worker->listener_count > 0 && !loop->listening.in_set && is_full(worker))
        timeout_ms = earlier_ms(worker, timeout_ms, loop->recycling.again_ns);
    return timeout_ms;
}

/* getevents. Returns false on failure. */
static bool get_events(struct event_loop *loop)
{
    struct worker *worker = loop->worker;
    const int count = worker->mechanism->wait(worker->events, loop->events, EVENTS_MAX, wait_ms(loop));

    worker->counters->event_calls++;
    loop->any_ready = false;
    loop->work = 0;
    if (count < 0)
        return false;
    loop->event_count = count;
    worker->counters->events_returned += (uint64_t)count;
    for (int i = 0; i < count; i++) {
        if (IS_LISTENER(loop->events[i].tag))
            loop->any_ready = loop->ready[LISTENER_OF(loop->events[i].tag)] = true;
        else
            loop->work++;
    }
    return true;
}

static bool may_end(const struct worker *worker)
{
    return worker->shutting_down && worker->counters->connections_open == 0 &&
           !(worker->driver->expects_more && worker->driver->expects_more(worker));
}

int event_loop_run(struct worker *worker)
{
    struct event_loop loop = {.worker = worker};
    bool leaving = false, retired = false;

    if (!worker_open(worker))
        return EXIT_RUNTIME;
    if (worker->mechanism->add_connection(worker->events, worker->wake_fd, TAG_WAKE) != 0) {
        log_errno("cannot watch the wake-up");
        return EXIT_RUNTIME;
    }
    for (unsigned i = 0; i < worker->source_count; i++) {
        if (worker->mechanism->add_listener(worker->events, worker->sources[i].fd, TAG_SOURCE(i)) != 0) {
            log_errno("cannot watch a channel");
            return EXIT_RUNTIME;
        }
    }
    while (!may_end(worker)) {
        update_listening(&loop);
        if (!get_events(&loop)) {
            log_errno("cannot wait for events");
            return EXIT_RUNTIME;
        }
        worker_refresh(worker);
        if (loop.any_ready)
            accept_phase(&loop);
        if (worker->shutting_down && !leaving) {
            leaving = true;
            stop_listening(&loop);
            if (worker->driver->leave)
                worker->driver->leave(worker);
        }
        work_phase(&loop);
        sending_phase(worker);
        timers_expire(&worker->timers, worker->now_ns, expired, worker);
        if (worker->closing_idle && !retired) {
            timers_for_each(&worker->timers, retire, worker);
            retired = true;
        }
    }
    worker_close(worker);
    return EXIT_SUCCESS;
}
