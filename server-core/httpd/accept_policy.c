/*
 * See accept_policy.h.
 */
#include "httpd/accept_policy.h"

#include "httpd/knobs.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

int64_t accept_policy_balance(uint32_t waiting, uint32_t backlog, uint32_t ready)
{
    const uint64_t all = (uint64_t)waiting + ready;
    uint64_t limit;

    if (waiting >= backlog - backlog / 4)
        return KNOB_INF;
    limit = all > 0 ? (uint64_t)waiting * waiting / all : 0;
    return limit > 0 ? (int64_t)limit : 1;
}

int64_t accept_policy_balance_listener(int listener, uint32_t ready)
{
    struct tcp_info info;
    socklen_t length = sizeof(info);

    if (getsockopt(listener, IPPROTO_TCP, TCP_INFO, &info, &length) != 0)
        return KNOB_INF;
    /* Of a listening socket these two mean something else (tcp_get_info() in net/ipv4/tcp.c): connections in
     * the queue, and its room. */
    return accept_policy_balance(info.tcpi_unacked, info.tcpi_sacked, ready);
}
