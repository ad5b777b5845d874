/*
 * See connection.h.
 */
#include "connection.h"

#include "http2_frames.h"
#include "kept_sockets.h"
#include "memory.h"
#include "transport.h"

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

void connection_watch(struct connections *all, struct connection *c, uint32_t events)
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
    connection_watch(all, c, EPOLLIN | EPOLLOUT);
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
    connection_watch(all, c, EPOLLIN | EPOLLOUT);
    return true;
}

void connection_fail_to_start(struct connections *all, uint32_t first, uint32_t offered, int error)
{
    all->broken_off++;
    account_failure(all->account, failure_of(error), (unsigned)error, connection_planned_size(all, first));
    for (uint32_t request = first + 1; request < first + offered; request++)
        account_outcome(all->account, OUTCOME_ABANDONED, connection_planned_size(all, request));
    account_session_end(all->account, SESSION_FAILED);
}
