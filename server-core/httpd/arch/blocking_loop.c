/*
 * See blocking_loop.h.
 *
 * The listeners are in an epoll set, because EPOLLEXCLUSIVE is what makes an arrival wake one sleeper and not
 * all of them; a sleeper that waits for its connection does not wait for that set, so no wake-up is lost in
 * it. The connection itself is waited for with poll(2): adding it to a set would cost a call more than it
 * saves.
 *
 * A sleeper whose connection is idle looks twice a second whether it should give way: when all others have
 * connections too, clients wait, and fewer than these have been idle for longer.
 */
#include "httpd/arch/blocking_loop.h"

#include "common/clock.h"
#include "httpd/connection/accept_policy.h"
#include "httpd/connection/recycle.h"
#include "httpd/connection/serving.h"
#include "httpd/log.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACK_OFF_MS  100 /* when descriptors or memory have run out */
#define SHED_FILES   16  /* cached files closed to make room for a connection */
#define LISTENER_MAX 16  /* events of one wait */
#define LOOK_MS      500 /* between looks whether an idle connection should give way */

/* There is one connection, and what it waits for is seen from its state. */
static void watch(struct worker *worker, struct connection *connection)
{
    (void)worker, (void)connection;
}

const struct driver driver_blocking_loop = {
    .connection_bytes = sizeof(struct connection),
    .fresh_bytes = sizeof(struct connection),
    .watch = watch,
};

/* Makes the set of the listeners and the wake-up. Returns its descriptor, or -1 with errno. */
static int watch_listeners(const struct worker *worker)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = worker->wake_fd};
    const int set = epoll_create1(EPOLL_CLOEXEC);
    bool ok = set >= 0 && epoll_ctl(set, EPOLL_CTL_ADD, worker->wake_fd, &event) == 0;

    for (size_t i = 0; ok && i < worker->listener_count; i++) {
        event = (struct epoll_event){.events = EPOLLIN | EPOLLEXCLUSIVE, .data.fd = worker->listeners[i]};
        ok = epoll_ctl(set, EPOLL_CTL_ADD, worker->listeners[i], &event) == 0;
    }
    if (!ok && set >= 0)
        close(set);
    return ok ? set : -1;
}

static void drain_wake_up(const struct worker *worker)
{
    uint64_t drained;

    if (read(worker->wake_fd, &drained, sizeof(drained)) < 0 && errno != EAGAIN)
        log_errno("cannot read the wake-up");
}

static bool may_accept(const struct worker *worker)
{
    return (int64_t)worker->row < worker_connections_in_all(worker);
}

/* Accepts from a listener. Returns the socket, or -1 when there is none. */
static int accept_from(struct worker *worker, int listener, bool blocking)
{
    const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | (blocking ? 0 : SOCK_NONBLOCK));

    worker->counters->accept_phases++;
    worker->counters->accept_calls++;
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
        log_errno("cannot accept connections (trying again in %d ms)", BACK_OFF_MS);
        file_cache_shed(worker->cache, SHED_FILES);
        poll(NULL, 0, BACK_OFF_MS);
    }
    return fd;
}

/* Waits for a connection in `listeners`, a set, and accepts it. Returns its socket, -1 if there is none for
 * the moment, or -2 if nothing has come for keepalive_timeout. */
static int await_connection(struct worker *worker, int listeners, bool blocking)
{
    struct epoll_event events[LISTENER_MAX];
    const int timeout_ms = (int)(worker->keepalive_timeout_ns / NS_PER_MS) + 1;
    int count, fd = -1;

    if (!may_accept(worker)) {
        struct pollfd wake_up = {.fd = worker->wake_fd, .events = POLLIN};

        if (poll(&wake_up, 1, -1) > 0)
            drain_wake_up(worker);
        return -1;
    }
    count = epoll_wait(listeners, events, LISTENER_MAX, timeout_ms);
    worker->counters->event_calls++;
    worker->counters->events_returned += count > 0 ? (uint64_t)count : 0;
    worker_refresh(worker);
    for (int i = 0; i < count && fd < 0; i++) {
        if (events[i].data.fd == worker->wake_fd)
            drain_wake_up(worker);
        else if (may_accept(worker) && !worker->shutting_down)
            fd = accept_from(worker, events[i].data.fd, blocking);
    }
    return count == 0 ? -2 : fd;
}

/* Returns how many workers with the same listeners have a connection that has been idle for longer than this
 * one's. */
static unsigned idle_longer(const struct worker *worker, uint64_t since_ns)
{
    const unsigned parts = worker->layout.parts;
    unsigned count = 0;

    for (unsigned row = worker->row % parts; row < worker->layout.serving; row += parts) {
        const uint64_t other_ns =
            *scoreboard_idle_since_ns(worker->scoreboard, worker_shared_row(worker, row));

        count += other_ns > 0 && other_ns < since_ns;
    }
    return count;
}

/* Says whether the connection, which is idle, should be closed for a client that waits. It is asked in this
 * order: whoever gives way meanwhile is counted as idle longer, or has a place free, or has taken the client.
 */
static bool should_give_way(const struct worker *worker, const struct connection *connection)
{
    const unsigned longer = idle_longer(worker, connection->started_ns);
    const unsigned parts = worker->layout.parts;
    const int64_t in_all = worker_connections_in_all(worker);
    int64_t places = 0;
    uint32_t waiting = 0;

    for (unsigned row = worker->row % parts; row < worker->layout.serving; row += parts)
        places += row < in_all;
    if (worker->now_ns < connection->started_ns + RECYCLE_IDLE_NS ||
        (int64_t)recycle_connections_open(worker) < places)
        return false;
    for (size_t i = 0; i < worker->listener_count; i++)
        waiting += accept_policy_waiting(worker->listeners[i]);
    return longer < waiting;
}

/* Waits until the connection can go on. Returns the flags of io/events.h. */
static uint32_t await_progress(struct worker *worker, const struct connection *connection)
{
    struct pollfd polled[2] = {
        {.fd = connection->fd, .events = connection->state == SENDING ? POLLOUT : POLLIN | POLLRDHUP},
        {.fd = worker->wake_fd, .events = POLLIN},
    };
    const int timer_ms = timers_wait_ms(&worker->timers, worker->now_ns);
    const int count =
        poll(polled, 2, connection_is_idle(connection) && timer_ms > LOOK_MS ? LOOK_MS : timer_ms);

    worker->counters->event_calls++;
    worker->counters->events_returned += count > 0 ? (uint64_t)count : 0;
    if (polled[1].revents)
        drain_wake_up(worker);
    worker_refresh(worker);
    if (count < 0)
        return 0;
    return (polled[0].revents & POLLIN ? (uint32_t)EVENT_READABLE : 0) |
           (polled[0].revents & POLLOUT ? (uint32_t)EVENT_WRITABLE : 0) |
           (polled[0].revents & (POLLRDHUP | POLLHUP | POLLERR) ? (uint32_t)EVENT_PEER_CLOSED : 0);
}

static void serve_connection(struct worker *worker, int fd, bool blocking)
{
    struct connection *connection = connection_open(worker, fd, blocking);
    _Atomic uint64_t *idle_since_ns =
        scoreboard_idle_since_ns(worker->scoreboard, worker_shared_row(worker, worker->row));
    bool retired = false;

    if (!connection)
        return;
    while (connection->state != CLOSED) {
        uint32_t flags;

        *idle_since_ns = connection_is_idle(connection) ? connection->started_ns : 0;
        turns_remove(&worker->turns,
                     &connection->turn); /* it is always its turn: only the client is waited for */
        flags = await_progress(worker, connection);
        if (flags)
            serving_run(worker, connection, flags);
        timers_expire(&worker->timers, worker->now_ns, serving_expired, worker);
        if (worker->closing_idle && !retired && connection->state != CLOSED)
            timers_for_each(&worker->timers, serving_retire, worker);
        retired = worker->closing_idle;
        if (!flags && connection_is_idle(connection) && should_give_way(worker, connection))
            serving_retire(worker, &connection->timer);
    }
    *idle_since_ns = 0;
}

/* Stops listening, and serves one connection more of each listener that has one: its arrival may have woken
 * this worker instead of one that goes on. */
static void serve_last(struct worker *worker, int listeners)
{
    for (size_t i = 0; i < worker->listener_count; i++)
        epoll_ctl(listeners, EPOLL_CTL_DEL, worker->listeners[i], NULL);
    for (size_t i = 0; i < worker->listener_count && may_accept(worker); i++) {
        const bool blocking = worker->sendfile == SENDFILE_BLOCKING;
        const int fd = accept_from(worker, worker->listeners[i], blocking);

        if (fd >= 0)
            serve_connection(worker, fd, blocking);
    }
}

int blocking_loop_run(struct worker *worker, const struct blocking_pool *pool)
{
    bool ended = false;
    int listeners;

    if (!worker_open(worker))
        return EXIT_RUNTIME;
    listeners = watch_listeners(worker);
    if (listeners < 0) {
        log_errno("cannot watch the listeners");
        worker_close(worker);
        return EXIT_RUNTIME;
    }
    while (!worker->shutting_down && !ended) {
        const bool blocking = worker->sendfile == SENDFILE_BLOCKING;
        const int fd = await_connection(worker, listeners, blocking);

        if (fd >= 0) {
            if (pool)
                pool->taken(pool->user);
            serve_connection(worker, fd, blocking);
            if (pool)
                pool->free_again(pool->user);
        }
        worker_refresh(worker);
        ended = fd == -2 && pool && pool->may_end(pool->user);
    }
    if (worker->shutting_down && !worker->closing_idle)
        serve_last(worker, listeners);
    close(listeners);
    worker_close(worker);
    return EXIT_SUCCESS;
}
