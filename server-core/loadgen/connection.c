/*
 * See connection.h.
 */
#include "connection.h"

#include "common/clock.h"
#include "memory.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

enum state { CONNECTING, ASKING, READING_BODY, THINKING };

struct connection {
    struct timeout timeout;
    struct alarm think;   /* in the heap while THINKING */
    uint64_t intended_ns; /* of the session while CONNECTING, then of the request */
    uint64_t body_left;   /* bytes still to be read, while READING_BODY */
    struct reply_head head;
    char *partial_head;     /* the beginning of a head that did not come in one piece, else NULL */
    uint32_t partial_bytes; /* of it */
    uint32_t request;       /* index of the present request in the plan */
    uint32_t last_request;  /* of the session */
    uint32_t sent;          /* bytes of the present request */
    int descriptor;
    enum state state;
    bool heard;       /* the server has sent something on this connection */
    bool reply_begun; /* a byte of the present reply has come */
    bool failed;      /* a request of the session has failed */
};

static const struct request_kind *kind_of(const struct connections *all, uint32_t request)
{
    return &all->plan->kinds[all->plan->requests[request].kind];
}

/* The size class of a request whose reply has not told its size. */
static uint64_t planned_size(const struct connections *all, uint32_t request)
{
    uint64_t size = kind_of(all, request)->size;
    return size == SIZE_UNKNOWN ? 0 : size;
}

/* Ends a session: counts the requests from the present one on as abandoned, and closes. */
static void end_session(struct connections *all, struct connection *c, enum session_end end)
{
    while (c->request <= c->last_request)
        account_outcome(&all->account, OUTCOME_ABANDONED, planned_size(all, c->request++));
    account_session_end(&all->account, end);
    if (c->state == THINKING)
        alarm_heap_remove(&all->thinkers, &c->think);
    timeout_cancel(&c->timeout);
    close(c->descriptor);
    free(c->partial_head);
    free(c);
    all->open--;
}

/* Ends a session because its present request, or the connection that it needs, failed. */
static void fail(struct connections *all, struct connection *c, enum failure reason, unsigned detail)
{
    account_failure(&all->account, reason, detail, planned_size(all, c->request++));
    end_session(all, c, SESSION_FAILED);
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

static void fail_with_errno(struct connections *all, struct connection *c, int error)
{
    fail(all, c, failure_of(error), (unsigned)error);
}

/* Sends what is left of the present request. Returns false when the session has ended. */
static bool send_request(struct connections *all, struct connection *c)
{
    const struct request_kind *kind = kind_of(all, c->request);
    ssize_t sent = send(c->descriptor, kind->text + c->sent, kind->text_length - c->sent, MSG_NOSIGNAL);

    if (sent >= 0) {
        c->sent += (uint32_t)sent;
    } else if (errno != EAGAIN) {
        fail_with_errno(all, c, errno);
        return false;
    }
    return true;
}

/* Begins the present request, meant for `intended_ns`. Returns false when the session has ended. */
static bool ask(struct connections *all, struct connection *c, uint64_t intended_ns)
{
    c->state = ASKING;
    c->intended_ns = intended_ns;
    c->sent = 0;
    c->reply_begun = false;
    return send_request(all, c);
}

/* A whole reply has been read. Returns false when the session has ended. */
static bool finish_reply(struct connections *all, struct connection *c)
{
    uint64_t now_ns = clock_now_ns();
    const struct request_kind *kind = kind_of(all, c->request);
    const struct reply_head *head = &c->head;
    uint64_t size = kind->size != SIZE_UNKNOWN                     ? kind->size
                    : head->content_length != REPLY_LENGTH_UNKNOWN ? head->content_length
                                                                   : 0;

    all->account.replies_by_status[head->status]++;
    if (head->status < 200 || head->status > 299) {
        account_failure(&all->account, FAILURE_STATUS, head->status, planned_size(all, c->request));
        c->failed = true;
    } else if (kind->size != SIZE_UNKNOWN && head->content_length != kind->size) {
        account_failure(&all->account, FAILURE_WRONG_LENGTH, 0, size);
        c->failed = true;
    } else {
        account_reply(&all->account, c->intended_ns, now_ns, head->head_bytes + head->body_bytes, size);
    }

    uint32_t think_us = all->plan->requests[c->request].think_us;
    if (c->request++ == c->last_request) {
        end_session(all, c, c->failed ? SESSION_FAILED : SESSION_COMPLETED);
        return false;
    }
    if (head->connection_close) {
        fail(all, c, FAILURE_CLOSED_EARLY, 0);
        return false;
    }
    if (think_us == 0)
        return ask(all, c, now_ns);
    c->state = THINKING;
    alarm_heap_add(&all->thinkers, &c->think, now_ns + think_us * NS_PER_US);
    return true;
}

/* Receives up to `size` bytes, into `buffer`, or nowhere when that is NULL. Returns their number; 0 when
 * nothing more is to be had now; and -1 when the session has ended. Called without libc's wrapper, as the
 * sanitizers take that for writing to `buffer`, which MSG_TRUNC does not do (tcp(7)). */
static ssize_t receive(struct connections *all, struct connection *c, void *buffer, size_t size)
{
    ssize_t got =
        syscall(SYS_recvfrom, c->descriptor, buffer, size, buffer == NULL ? MSG_TRUNC : 0, NULL, NULL);

    if (got > 0) {
        all->account.bytes_received += (uint64_t)got;
        c->heard = true;
        return got;
    }
    if (got < 0 && errno == EAGAIN)
        return 0;
    if (got == 0)
        fail(all, c, FAILURE_CLOSED_EARLY, 0);
    else
        fail_with_errno(all, c, errno);
    return -1;
}

/* Keeps the beginning of a head until the rest comes. */
static void keep_partial_head(struct connection *c, const char *data, size_t length)
{
    if (c->partial_head == NULL)
        c->partial_head = memory_needed(malloc(REPLY_HEAD_MAX));
    memcpy(c->partial_head, data, length);
    c->partial_bytes = (uint32_t)length;
}

static void forget_partial_head(struct connection *c)
{
    free(c->partial_head);
    c->partial_head = NULL;
    c->partial_bytes = 0;
}

/* Says whether the `length` bytes of a head that have come, of which reply_parse_head thinks `parse`, are
 * refused, and why. */
static bool head_refused(enum reply_parse parse, size_t length, enum failure *reason)
{
    switch (parse) {
    case REPLY_MALFORMED:
        *reason = FAILURE_MALFORMED_HEAD;
        return true;
    case REPLY_TRANSFER_ENCODING:
        *reason = FAILURE_TRANSFER_ENCODING;
        return true;
    case REPLY_NO_LENGTH:
        *reason = FAILURE_NO_LENGTH;
        return true;
    default:
        *reason = FAILURE_HEAD_TOO_LONG;
        return length > REPLY_HEAD_MAX;
    }
}

/* The read functions return whether more may be waiting to be read on a session that goes on. */

static bool read_head(struct connections *all, struct connection *c, bool until_empty)
{
    size_t room = RECEIVE_BYTES - c->partial_bytes;
    if (c->partial_bytes > 0)
        memcpy(all->received, c->partial_head, c->partial_bytes);
    ssize_t got = receive(all, c, all->received + c->partial_bytes, room);
    if (got <= 0)
        return false;
    if (!c->reply_begun) {
        c->reply_begun = true;
        account_first_byte(&all->account, c->intended_ns, clock_now_ns());
    }

    size_t length = c->partial_bytes + (size_t)got;
    enum reply_parse parse =
        reply_parse_head(all->received, length, kind_of(all, c->request)->head, &c->head);
    enum failure reason;
    bool drained = (size_t)got < room && !until_empty;
    if (head_refused(parse, parse == REPLY_INCOMPLETE ? length : c->head.head_bytes, &reason)) {
        fail(all, c, reason, 0);
        return false;
    }
    if (parse == REPLY_INCOMPLETE) {
        keep_partial_head(c, all->received, length);
        return !drained;
    }
    forget_partial_head(c);

    uint64_t of_body = length - c->head.head_bytes;
    if (of_body > c->head.body_bytes) {
        fail(all, c, FAILURE_UNEXPECTED_DATA, 0);
        return false;
    }
    c->body_left = c->head.body_bytes - of_body;
    if (c->body_left > 0) {
        c->state = READING_BODY;
        return !drained;
    }
    return finish_reply(all, c) && !drained;
}

static bool read_body(struct connections *all, struct connection *c, bool until_empty)
{
    /* One byte more than wanted: a server that sends too much is found out. */
    ssize_t got = receive(all, c, NULL, c->body_left + 1);
    if (got <= 0)
        return false;
    bool drained = (uint64_t)got <= c->body_left && !until_empty;
    if ((uint64_t)got > c->body_left) {
        fail(all, c, FAILURE_UNEXPECTED_DATA, 0);
        return false;
    }
    c->body_left -= (uint64_t)got;
    if (c->body_left > 0)
        return !drained;
    return finish_reply(all, c) && !drained;
}

/* Nothing is expected while the client thinks, but the server may close the connection. */
static bool read_while_thinking(struct connections *all, struct connection *c)
{
    if (receive(all, c, all->received, RECEIVE_BYTES) > 0)
        fail(all, c, FAILURE_UNEXPECTED_DATA, 0);
    return false;
}

static bool read_some(struct connections *all, struct connection *c, bool until_empty)
{
    switch (c->state) {
    case ASKING:
        return read_head(all, c, until_empty);
    case READING_BODY:
        return read_body(all, c, until_empty);
    case THINKING:
        return read_while_thinking(all, c);
    case CONNECTING:
        break;
    }
    return false;
}

/* The connect has succeeded or failed. Returns false when the session has ended. */
static bool finish_connect(struct connections *all, struct connection *c, uint32_t events)
{
    uint64_t now_ns = clock_now_ns();

    if (events & (EPOLLERR | EPOLLHUP)) {
        int error = 0;
        socklen_t length = sizeof(error);
        if (getsockopt(c->descriptor, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error != 0) {
            fail_with_errno(all, c, error);
            return false;
        }
    }
    account_connected(&all->account, c->intended_ns, now_ns);
    timeout_cancel(&c->timeout);
    timeout_queue_append(&all->session_timeouts, &c->timeout, now_ns + all->timeout_ns);
    return ask(all, c, c->intended_ns);
}

void connections_init(struct connections *all)
{
    all->open = 0;
    all->thinkers = (struct alarm_heap){0};
    timeout_queue_init(&all->connect_timeouts);
    timeout_queue_init(&all->session_timeouts);
}

void connections_free(struct connections *all)
{
    alarm_heap_free(&all->thinkers);
}

/* A session whose connect failed at once is over before it has a socket. */
static void fail_to_start(struct connections *all, uint32_t session, int error)
{
    uint32_t first = session_first(all->plan, session);
    uint32_t length = session_length(all->plan, session);

    account_failure(&all->account, failure_of(error), (unsigned)error, planned_size(all, first));
    for (uint32_t request = first + 1; request < first + length; request++)
        account_outcome(&all->account, OUTCOME_ABANDONED, planned_size(all, request));
    account_session_end(&all->account, SESSION_FAILED);
}

static void watch(struct connections *all, struct connection *c)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = c};

    if (epoll_ctl(all->epoll, EPOLL_CTL_ADD, c->descriptor, &event) < 0)
        memory_needed(NULL); /* ENOMEM is the only error left for a new socket, see epoll_ctl(2) */
}

void connections_start(struct connections *all, uint32_t session, uint64_t intended_ns)
{
    uint64_t now_ns = clock_now_ns();
    uint32_t first = session_first(all->plan, session);
    uint32_t length = session_length(all->plan, session);
    int descriptor, error;

    account_arrival(&all->account, length);
    if (now_ns >= intended_ns + all->timeout_ns) {
        account_drop(&all->account, DROP_LATENESS, length);
        return;
    }
    enum connect_status status = network_connect(&all->network, &descriptor);
    error = errno;
    if (status == CONNECT_NO_PORT || status == CONNECT_NO_DESCRIPTOR) {
        account_drop(&all->account, status == CONNECT_NO_PORT ? DROP_PORTS : DROP_DESCRIPTORS, length);
        return;
    }
    account_start(&all->account, intended_ns, now_ns);
    if (status == CONNECT_FAILED) {
        fail_to_start(all, session, error);
        return;
    }

    struct connection *c = memory_needed(malloc(sizeof(*c)));
    *c = (struct connection){
        .intended_ns = intended_ns,
        .request = first,
        .last_request = first + length - 1,
        .descriptor = descriptor,
        .state = CONNECTING,
    };
    timeout_queue_append(&all->connect_timeouts, &c->timeout, intended_ns + all->timeout_ns);
    all->open++;
    watch(all, c);
}

void connection_handle(struct connections *all, struct connection *c, uint32_t events)
{
    const uint32_t ends = EPOLLRDHUP | EPOLLHUP | EPOLLERR;

    if (c->state == CONNECTING) {
        if (!finish_connect(all, c, events))
            return;
    } else if (c->state == ASKING && (events & EPOLLOUT) && c->sent < kind_of(all, c->request)->text_length) {
        if (!send_request(all, c))
            return;
    }
    /* A short read empties the socket, and new data makes a new event; but the end of the stream that this
     * event has announced already must be read after the data. */
    if (events & (EPOLLIN | ends))
        while (read_some(all, c, (events & ends) != 0))
            ;
}

void connections_wake(struct connections *all, uint64_t now_ns, unsigned limit)
{
    for (struct alarm *first; limit > 0 && (first = alarm_heap_first(&all->thinkers)) != NULL; limit--) {
        if (first->due_ns > now_ns)
            return;
        alarm_heap_remove(&all->thinkers, first);
        ask(all, container_of(first, struct connection, think), first->due_ns);
    }
}

/* Counts the request that a session timeout hits. */
static void time_out_request(struct connections *all, struct connection *c)
{
    enum outcome outcome = c->heard ? OUTCOME_TIMED_OUT_AFTER_READ : OUTCOME_TIMED_OUT_BEFORE_READ;

    if (c->state == THINKING)
        return; /* nothing has been asked that could time out */
    account_outcome(&all->account, outcome, planned_size(all, c->request++));
}

static void expire(struct connections *all, struct timeout_queue *queue, enum session_end end,
                   uint64_t now_ns)
{
    for (struct timeout *first; (first = timeout_queue_first(queue)) != NULL && first->due_ns <= now_ns;) {
        struct connection *c = container_of(first, struct connection, timeout);
        time_out_request(all, c);
        end_session(all, c, end);
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
            end_session(all, container_of(first, struct connection, timeout), SESSION_INTERRUPTED);
}

uint64_t connections_due_ns(const struct connections *all)
{
    uint64_t due_ns = timeout_queue_due_ns(&all->connect_timeouts);
    uint64_t session_ns = timeout_queue_due_ns(&all->session_timeouts);
    uint64_t think_ns = alarm_heap_due_ns(&all->thinkers);

    due_ns = session_ns < due_ns ? session_ns : due_ns;
    return think_ns < due_ns ? think_ns : due_ns;
}
