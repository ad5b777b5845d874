/*
 * See connection.h.
 */
#include "connection.h"

#include "common/clock.h"
#include "exchange.h"
#include "memory.h"
#include "random.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Closes and frees; errno stays what it is. */
static void discard(struct connection *c)
{
    int error = errno;

    if (c->descriptor >= 0)
        close(c->descriptor);
    free(c);
    errno = error;
}

/* More sockets than this wait only while the rate falls. */
#define IDLE_MAX 64

/* Ends the connection of a session that has had all its replies, and keeps its socket for another session.
 * Returns false when it is not to be kept: only a socket that is like a new one is. */
static bool keep_idle(struct connections *all, struct connection *c)
{
    if (!all->network.close_with_reset || c->slow || all->idle_count == IDLE_MAX ||
        !network_reset(&all->network, c->descriptor))
        return false;
    c->state = IDLE;
    c->next_idle = all->idle[c->source];
    all->idle[c->source] = c;
    all->idle_count++;
    return true;
}

/* Returns a connection without a session whose socket is bound to `source`, NULL when there is none. */
static struct connection *take_idle(struct connections *all, size_t source)
{
    struct connection *c = all->idle[source];

    if (c != NULL) {
        all->idle[source] = c->next_idle;
        all->idle_count--;
    }
    return c;
}

void connection_end(struct connections *all, struct connection *c, enum session_end end)
{
    while (c->request < c->offered_end)
        account_outcome(all->account, OUTCOME_ABANDONED, connection_planned_size(all, c->request++));
    account_session_end(all->account, end);
    if (c->state == THINKING || c->paced)
        alarm_heap_remove(&all->thinkers, &c->think);
    timeout_cancel(&c->timeout);
    free(c->partial_head);
    all->open--;
    if (end == SESSION_COMPLETED && keep_idle(all, c))
        return;
    discard(c);
}

void connection_fail(struct connections *all, struct connection *c, enum failure reason, unsigned detail)
{
    all->broken_off++;
    account_failure(all->account, reason, detail, connection_planned_size(all, c->request++));
    connection_end(all, c, SESSION_FAILED);
}

static enum failure failure_of(int error)
{
    switch (error) {
    case ECONNREFUSED:
        return FAILURE_CONNECT_REFUSED;
    case ECONNRESET:
    case EPIPE:
        return FAILURE_RESET;
    default:
        return FAILURE_ERRNO;
    }
}

bool connection_next_request(struct connections *all, struct connection *c)
{
    if (!all->closed_loop)
        return c->request <= c->last_request;
    if (all->stopping)
        return false;
    if (c->request > c->last_request) {
        if (!all->endless)
            return false;
        c->request = 0; /* an endless session is the only one of its plan */
    }
    c->offered_end = c->request + 1;
    account_offer(all->account);
    return true;
}

void connection_restart_timeout(struct connections *all, struct connection *c, uint64_t now_ns)
{
    timeout_cancel(&c->timeout);
    timeout_queue_append(&all->session_timeouts, &c->timeout, now_ns + all->timeout_ns);
}

void connection_fail_with_errno(struct connections *all, struct connection *c, int error)
{
    connection_fail(all, c, failure_of(error), (unsigned)error);
}

/* The connection is established. Returns false when the session has ended. */
static bool begin_session(struct connections *all, struct connection *c, uint64_t now_ns)
{
    account_connected(all->account, c->intended_ns, now_ns);
    if (!c->reopened)
        connection_restart_timeout(all, c, now_ns);
    return exchange_ask(all, c, c->intended_ns);
}

/* The connect has succeeded or failed. Returns false when the session has ended. */
static bool finish_connect(struct connections *all, struct connection *c, uint32_t events)
{
    if (events & (EPOLLERR | EPOLLHUP)) {
        int error = 0;
        socklen_t length = sizeof(error);
        if (getsockopt(c->descriptor, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error != 0) {
            connection_fail_with_errno(all, c, error);
            return false;
        }
    }
    return begin_session(all, c, clock_now_ns());
}

void connections_init(struct connections *all, unsigned worker)
{
    all->open = 0;
    all->broken_off = 0;
    all->random_state = random_mix(all->random_state + worker);
    network_begin_at(&all->network, worker);
    all->thinkers = (struct alarm_heap){0};
    timeout_queue_init(&all->connect_timeouts);
    timeout_queue_init(&all->session_timeouts);
}

void connections_free(struct connections *all)
{
    for (size_t source = 0; source < NETWORK_SOURCES_MAX; source++)
        while (all->idle[source] != NULL)
            discard(take_idle(all, source));
    alarm_heap_free(&all->thinkers);
}

/* A session whose connect failed at once is over before it has a socket. */
static void fail_to_start(struct connections *all, uint32_t first, uint32_t offered, int error)
{
    all->broken_off++;
    account_failure(all->account, failure_of(error), (unsigned)error, connection_planned_size(all, first));
    for (uint32_t request = first + 1; request < first + offered; request++)
        account_outcome(all->account, OUTCOME_ABANDONED, connection_planned_size(all, request));
    account_session_end(all->account, SESSION_FAILED);
}

/* Has epoll report `events`, from now on, besides what it reports already. */
static void watch(struct connections *all, struct connection *c, uint32_t events)
{
    struct epoll_event event = {.events = c->watched | events | EPOLLRDHUP | EPOLLET, .data.ptr = c};

    if (event.events == c->watched)
        return;
    if (epoll_ctl(all->epoll, c->watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, c->descriptor, &event) < 0)
        memory_needed(NULL); /* ENOMEM is the only error left, see epoll_ctl(2) */
    c->watched = event.events;
}

void connection_watch_sending(struct connections *all, struct connection *c)
{
    watch(all, c, EPOLLIN | EPOLLOUT);
}

bool connection_reopen(struct connections *all, struct connection *c)
{
    close(c->descriptor);
    c->source = all->network.next_source;
    enum connect_status status =
        network_connect(&all->network, c->slow ? all->slow_window_bytes : 0, &c->descriptor);
    if (status == CONNECT_NO_PORT || status == CONNECT_NO_DESCRIPTOR) {
        connection_fail(all, c, status == CONNECT_NO_PORT ? FAILURE_NO_PORT : FAILURE_NO_DESCRIPTOR, 0);
        return false;
    }
    if (status == CONNECT_FAILED) {
        connection_fail_with_errno(all, c, errno);
        return false;
    }
    all->account->connections_reopened++;
    c->state = CONNECTING;
    c->to_reopen = false;
    c->reopened = true;
    c->heard = false;
    c->watched = 0;
    watch(all, c, EPOLLIN | EPOLLOUT);
    return true;
}

/* Begins to connect a socket for a session. Unless that fails, *connection is the session's, with nothing but
 * its socket set; when it does, errno says why. */
static enum connect_status connect_session(struct connections *all, bool slow, struct connection **connection)
{
    size_t source = all->network.next_source;
    struct connection *c = slow ? NULL : take_idle(all, source);
    enum connect_status status;
    int descriptor;

    if (c != NULL) {
        status = network_connect_again(&all->network, c->descriptor);
        if (status != CONNECT_UNDER_WAY)
            discard(c);
    } else {
        status = network_connect(&all->network, slow ? all->slow_window_bytes : 0, &descriptor);
        if (status == CONNECT_UNDER_WAY) {
            c = memory_needed(malloc(sizeof(*c)));
            *c = (struct connection){.descriptor = descriptor, .source = source};
        }
    }
    *connection = c;
    return status;
}

void connections_start(struct connections *all, uint32_t session, uint64_t intended_ns)
{
    uint64_t now_ns = clock_now_ns();
    uint32_t first = session_first(all->plan, session);
    uint32_t length = session_length(all->plan, session);
    /* The closed loop offers a request when its turn has come, the open one all of the session at once. */
    uint32_t offered = all->closed_loop ? 1 : length;
    struct connection *c;

    account_arrival(all->account, offered);
    if (now_ns >= intended_ns + all->connect_timeout_ns) {
        account_drop(all->account, DROP_LATENESS, offered);
        return;
    }
    bool slow = all->slow_share > 0 && random_uniform(&all->random_state) <= all->slow_share;
    enum connect_status status = connect_session(all, slow, &c);
    int error = errno;
    if (status == CONNECT_NO_PORT || status == CONNECT_NO_DESCRIPTOR) {
        all->broken_off++;
        account_drop(all->account, status == CONNECT_NO_PORT ? DROP_PORTS : DROP_DESCRIPTORS, offered);
        return;
    }
    account_start(all->account, intended_ns, now_ns);
    if (status == CONNECT_FAILED) {
        fail_to_start(all, first, offered, error);
        return;
    }

    *c = (struct connection){
        .intended_ns = intended_ns,
        .request = first,
        .last_request = first + length - 1,
        .offered_end = first + offered,
        .descriptor = c->descriptor,
        .watched = c->watched,
        .source = c->source,
        .state = CONNECTING,
        .slow = slow,
    };
    all->account->sessions_slow += slow;
    timeout_queue_append(&all->connect_timeouts, &c->timeout, intended_ns + all->connect_timeout_ns);
    all->open++;
    /* On the loopback a connection is established when connect(2) returns, so there is nothing to wait for.
     */
    if (!network_connected(c->descriptor))
        watch(all, c, EPOLLIN | EPOLLOUT);
    else if (begin_session(all, c, clock_now_ns()))
        watch(all, c, EPOLLIN);
}

void connection_handle(struct connections *all, struct connection *c, uint32_t events)
{
    const uint32_t ends = EPOLLRDHUP | EPOLLHUP | EPOLLERR;

    if (c->state == IDLE)
        return;
    if (c->state == CONNECTING) {
        if (!finish_connect(all, c, events))
            return;
    } else if (c->state == ASKING && (events & EPOLLOUT) && !exchange_sent(all, c)) {
        if (!exchange_send(all, c))
            return;
    }
    /* A short read empties the socket, and new data makes a new event; but the end of the stream that this
     * event has announced already must be read after the data. */
    if (events & (EPOLLIN | ends))
        while (exchange_read(all, c, (events & ends) != 0))
            ;
}

void connections_wake(struct connections *all, uint64_t now_ns, unsigned limit)
{
    for (struct alarm *first; limit > 0 && (first = alarm_heap_first(&all->thinkers)) != NULL; limit--) {
        if (first->due_ns > now_ns)
            return;
        alarm_heap_remove(&all->thinkers, first);
        struct connection *c = container_of(first, struct connection, think);
        if (c->paced) {
            c->paced = false;
            exchange_read(all, c, true);
        } else {
            c->state = ASKING; /* should that fail at once, the alarm is not there to be removed again */
            exchange_ask(all, c, first->due_ns);
        }
    }
}

/* Counts the request that a session timeout hits. */
static void time_out_request(struct connections *all, struct connection *c)
{
    enum outcome outcome = c->heard ? OUTCOME_TIMED_OUT_AFTER_READ : OUTCOME_TIMED_OUT_BEFORE_READ;

    if (c->state == THINKING)
        return; /* nothing has been asked that could time out */
    account_outcome(all->account, outcome, connection_planned_size(all, c->request++));
}

static void expire(struct connections *all, struct timeout_queue *queue, enum session_end end,
                   uint64_t now_ns)
{
    for (struct timeout *first; (first = timeout_queue_first(queue)) != NULL && first->due_ns <= now_ns;) {
        struct connection *c = container_of(first, struct connection, timeout);
        time_out_request(all, c);
        connection_end(all, c, end);
    }
}

void connections_expire(struct connections *all, uint64_t now_ns)
{
    expire(all, &all->connect_timeouts, SESSION_TIMED_OUT_CONNECT, now_ns);
    expire(all, &all->session_timeouts, SESSION_TIMED_OUT, now_ns);
}

void connections_interrupt(struct connections *all)
{
    struct timeout_queue *const queues[] = {&all->connect_timeouts, &all->session_timeouts};

    for (unsigned i = 0; i < 2; i++)
        for (struct timeout *first; (first = timeout_queue_first(queues[i])) != NULL;)
            connection_end(all, container_of(first, struct connection, timeout), SESSION_INTERRUPTED);
}

uint64_t connections_due_ns(const struct connections *all)
{
    uint64_t due_ns = timeout_queue_due_ns(&all->connect_timeouts);
    uint64_t session_ns = timeout_queue_due_ns(&all->session_timeouts);
    uint64_t think_ns = alarm_heap_due_ns(&all->thinkers);

    due_ns = session_ns < due_ns ? session_ns : due_ns;
    return think_ns < due_ns ? think_ns : due_ns;
}
