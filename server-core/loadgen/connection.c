/*
 * See connection.h.
 */
#include "connection.h"

#include "common/clock.h"
#include "exchange.h"
#include "http2.h"
#include "kept_sockets.h"
#include "memory.h"
#include "random.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

void connection_end(struct connections *all, struct connection *c, enum session_end end)
{
    http2_end_requests(all, c, OUTCOME_ABANDONED, 0, 0);
    while (c->request < c->offered_end)
        account_outcome(all->account, OUTCOME_ABANDONED, connection_planned_size(all, c->request++));
    account_session_end(all->account, end);
    alarm_heap_remove(&all->thinkers, &c->think);
    alarm_heap_remove(&all->deadlines, &c->deadline);
    timeout_cancel(&c->timeout);
    free(c->partial_head);
    all->open--;
    http2_close(all, c, true);
    all->transport->close(all, c);
    if (end != SESSION_COMPLETED || !kept_socket_put(all, c))
        kept_socket_discard(c);
}

void connection_fail(struct connections *all, struct connection *c, enum failure reason, unsigned detail)
{
    all->broken_off++;
    if (!http2_end_requests(all, c, OUTCOME_FAILED, reason, detail))
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
    case EPROTO:
        return FAILURE_TLS_HANDSHAKE;
    case EKEYREJECTED:
        return FAILURE_TLS_CERTIFICATE;
    case EPROTONOSUPPORT:
        return FAILURE_NO_HTTP2;
    case EBADMSG:
        return FAILURE_TLS_RECORD;
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

void connection_start_timeout(struct connections *all, struct connection *c, uint64_t now_ns)
{
    if (!all->closed_loop) {
        timeout_cancel(&c->timeout);
        timeout_queue_append(&all->session_timeouts, &c->timeout, now_ns + all->timeout_ns);
        return;
    }
    c->deadline_ns = now_ns + all->timeout_ns;
    if (c->deadline.place == 0) {
        timeout_cancel(&c->timeout);
        alarm_heap_add(&all->deadlines, &c->deadline, c->deadline_ns);
    }
}

void connection_fail_with_errno(struct connections *all, struct connection *c, int error)
{
    connection_fail(all, c, failure_of(error), (unsigned)error);
}

void connection_fail_to_receive(struct connections *all, struct connection *c, ssize_t status)
{
    if (status == 0)
        connection_fail(all, c, FAILURE_CLOSED_EARLY, 0);
    else
        connection_fail_with_errno(all, c, errno);
}

/* Goes on with what the transport needs before the first request. Returns false when the session has ended.
 */
static bool open_transport(struct connections *all, struct connection *c)
{
    ssize_t status = all->transport->open(all, c);

    if (status > 0)
        return exchange_begin(all, c);
    if (status < 0 && errno == EAGAIN)
        return true;
    connection_fail_to_receive(all, c, status);
    return false;
}

/* The connection is established. Returns false when the session has ended. */
static bool begin_session(struct connections *all, struct connection *c, uint64_t now_ns)
{
    account_connected(all->account, c->intended_ns, now_ns);
    if (!c->reopened)
        connection_start_timeout(all, c, now_ns);
    c->state = HANDSHAKING;
    c->connected_ns = now_ns;
    return open_transport(all, c);
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
    all->deadlines = (struct alarm_heap){0};
    timeout_queue_init(&all->connect_timeouts);
    timeout_queue_init(&all->session_timeouts);
}

void connections_free(struct connections *all)
{
    kept_sockets_free(all);
    alarm_heap_free(&all->thinkers);
    alarm_heap_free(&all->deadlines);
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
    http2_close(all, c, false);
    all->transport->close(all, c);
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
    enum connect_status status = kept_socket_connect(all, slow, &c);
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
    c->emptied = false;
    if (c->state == CONNECTING) {
        if (!finish_connect(all, c, events))
            return;
    } else if (c->state == HANDSHAKING) {
        if (!open_transport(all, c))
            return;
    } else if ((c->state == ASKING || c->http2 != NULL) && (events & EPOLLOUT) && !exchange_sent(all, c)) {
        if (!exchange_send(all, c))
            return;
    }
    /* As a rule a short read empties the socket, and new data makes a new event; but the end of the stream
     * that this event has announced already must be read after the data. */
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
        } else if (c->http2 != NULL) {
            http2_wake(all, c, now_ns);
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

    if (http2_end_requests(all, c, outcome, 0, 0) || c->state == THINKING)
        return; /* nothing else has been asked that could time out */
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

/* The closed loop: an alarm that has gone off too early is set again. */
static void expire_requests(struct connections *all, uint64_t now_ns)
{
    for (struct alarm *first;
         (first = alarm_heap_first(&all->deadlines)) != NULL && first->due_ns <= now_ns;) {
        struct connection *c = container_of(first, struct connection, deadline);
        bool given_up = c->http2 != NULL && http2_give_up(all, c, now_ns);
        uint64_t due_ns = http2_due_ns(all, c, given_up ? now_ns + all->timeout_ns : c->deadline_ns);
        alarm_heap_remove(&all->deadlines, first);
        if (due_ns > now_ns) {
            alarm_heap_add(&all->deadlines, first, due_ns);
            if (given_up)
                http2_wake(all, c, now_ns);
            continue;
        }
        time_out_request(all, c);
        connection_end(all, c, SESSION_TIMED_OUT);
    }
}

void connections_expire(struct connections *all, uint64_t now_ns)
{
    expire(all, &all->connect_timeouts, SESSION_TIMED_OUT_CONNECT, now_ns);
    expire(all, &all->session_timeouts, SESSION_TIMED_OUT, now_ns);
    expire_requests(all, now_ns);
}

void connections_interrupt(struct connections *all)
{
    struct timeout_queue *const queues[] = {&all->connect_timeouts, &all->session_timeouts};

    for (unsigned i = 0; i < 2; i++)
        for (struct timeout *first; (first = timeout_queue_first(queues[i])) != NULL;)
            connection_end(all, container_of(first, struct connection, timeout), SESSION_INTERRUPTED);
    for (struct alarm *first; (first = alarm_heap_first(&all->deadlines)) != NULL;)
        connection_end(all, container_of(first, struct connection, deadline), SESSION_INTERRUPTED);
}

static uint64_t earlier(uint64_t one_ns, uint64_t other_ns)
{
    return one_ns < other_ns ? one_ns : other_ns;
}

uint64_t connections_due_ns(const struct connections *all)
{
    uint64_t timeout_ns =
        earlier(timeout_queue_due_ns(&all->connect_timeouts), timeout_queue_due_ns(&all->session_timeouts));

    return earlier(timeout_ns,
                   earlier(alarm_heap_due_ns(&all->deadlines), alarm_heap_due_ns(&all->thinkers)));
}
