/*
 * See accept_policy.h.
 */
#include "httpd/connection/accept_policy.h"

#include "httpd/config/knobs.h"

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

/* Of a listening socket two fields mean something else than usual (tcp_get_info() in net/ipv4/tcp.c):
 * connections in the queue, and its room. Returns false if the kernel does not tell. */
static bool look_at(int listener, uint32_t *waiting, uint32_t *room)
{
    struct tcp_info info;
    socklen_t length = sizeof(info);

    if (getsockopt(listener, IPPROTO_TCP, TCP_INFO, &info, &length) != 0)
        return false;
    *waiting = info.tcpi_unacked;
    *room = info.tcpi_sacked;
    return true;
}

int64_t accept_policy_balance_listener(int listener, uint32_t ready)
{
    uint32_t waiting, room;

    return look_at(listener, &waiting, &room) ? accept_policy_balance(waiting, room, ready) : KNOB_INF;
}

uint32_t accept_policy_waiting(int listener)
{
    uint32_t waiting, room;

    return look_at(listener, &waiting, &room) ? waiting : 0;
}

uint32_t accept_policy_backlog(int listener)
{
    uint32_t waiting, room;

    return look_at(listener, &waiting, &room) ? room : UINT32_MAX;
}
