/*
 * See open_sessions.h.
 */
#include "open_sessions.h"

#include "common/clock.h"
#include "connection.h"
#include "exchange.h"
#include "http2.h"
#include "http2_frames.h"
#include "kept_sockets.h"
#include "random.h"
#include "sql_exchange.h"
#include "transport.h"

#include <errno.h>
#include <sys/epoll.h>

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

/* Begins the session of a connection, which is established. Returns false when it has ended. */
static bool begin(struct connections *all, struct connection *c)
{
    if (all->http2 != NULL)
        return http2_begin(all, c);
    if (!connections_of_statements(all))
        return exchange_ask(all, c, c->intended_ns);
    c->state = GREETING;
    return true;
}

/* Says whether everything has gone out that was to be sent. */
static bool is_sent(const struct connections *all, const struct connection *c)
{
    return all->http2 != NULL ? http2_sent(c) : exchange_sent(all, c);
}

/* Sends what has not gone out yet. Returns false when the session has ended. */
static bool send_rest(struct connections *all, struct connection *c)
{
    return all->http2 != NULL ? http2_send(all, c) : exchange_send(all, c);
}

/* Receives once, and goes on with the session as far as that allows. Returns what exchange_read does. */
static bool read_once(struct connections *all, struct connection *c, bool until_empty)
{
    if (c->paced)
        return false;
    if (c->http2 != NULL && c->state >= ASKING)
        return http2_read(all, c, until_empty);
    if (connections_of_statements(all) && (c->state == GREETING || c->state == ASKING))
        return sql_read(all, c, until_empty);
    return exchange_read(all, c, until_empty);
}

/* Goes on with what the transport needs before the first request. Returns false when the session has ended.
 */
static bool open_transport(struct connections *all, struct connection *c)
{
    ssize_t status = all->transport->open(all, c);

    if (status > 0)
        return begin(all, c);
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
        connection_fail_to_start(all, first, offered, error);
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
    if (all->open > all->account->most_open)
        all->account->most_open = all->open;
    /* On the loopback a connection is established when connect(2) returns, so there is nothing to wait for.
     */
    if (!network_connected(c->descriptor))
        connection_watch(all, c, EPOLLIN | EPOLLOUT);
    else if (begin_session(all, c, clock_now_ns()))
        connection_watch(all, c, EPOLLIN);
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
    } else if ((c->state == ASKING || c->http2 != NULL) && (events & EPOLLOUT) && !is_sent(all, c)) {
        if (!send_rest(all, c))
            return;
    }
    /* As a rule a short read empties the socket, and new data makes a new event; but the end of the stream
     * that this event has announced already must be read after the data. */
    if (events & (EPOLLIN | ends))
        while (read_once(all, c, (events & ends) != 0))
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
            read_once(all, c, true);
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
