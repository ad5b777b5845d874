/*
 * epoll(7), level-triggered (`epoll`) and edge-triggered (`epoll-et`).
 *
 * EDGES. Connections are added once with EPOLLIN | EPOLLRDHUP | EPOLLET. Writability is not asked for until a
 * send has blocked (one epoll_ctl in the life of a connection with large replies, none in that of others): a
 * set that contained it would report each new connection once for nothing.
 *
 * LEVELS. Two calls of epoll_ctl for each reply that blocks: to writing, and back to reading.
 *
 * EPOLLRDHUP is what makes a short read sufficient proof that the socket is drained (epoll(7), "Questions and
 * answers", 9): the end of the stream is reported by the same or a later event and needs no read to be found.
 *
 * Listeners are level-triggered in both, so that a queue which the accept phase did not drain is reported
 * again, and EPOLLEXCLUSIVE, so that an arrival wakes one sleeping worker and not all (epoll_ctl(2)).
 */
#include "httpd/io/mechanisms.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define EVENTS_MAX 1024 /* more are reported by the next wait */

struct event_set {
    int epoll;
    uint32_t trigger; /* EPOLLET or 0 */
    struct epoll_event events[EVENTS_MAX];
};

static struct event_set *create(uint32_t trigger)
{
    struct event_set *set = malloc(sizeof(*set));

    if (!set)
        return NULL;
    set->trigger = trigger;
    set->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (set->epoll < 0) {
        free(set);
        return NULL;
    }
    return set;
}

static struct event_set *create_level(void)
{
    return create(0);
}

static struct event_set *create_edge(void)
{
    return create(EPOLLET);
}

static void destroy(struct event_set *set)
{
    close(set->epoll);
    free(set);
}

static int control(struct event_set *set, int operation, int fd, uint64_t tag, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.u64 = tag};

    return epoll_ctl(set->epoll, operation, fd, &event);
}

static int add_listener(struct event_set *set, int fd, uint64_t tag)
{
    return control(set, EPOLL_CTL_ADD, fd, tag, EPOLLIN | EPOLLEXCLUSIVE);
}

static int remove_listener(struct event_set *set, int fd)
{
    return control(set, EPOLL_CTL_DEL, fd, 0, 0);
}

static uint32_t wanted(const struct event_set *set, uint32_t interest)
{
    return set->trigger | (interest & EVENT_READABLE ? EPOLLIN | EPOLLRDHUP : 0) |
           (interest & EVENT_WRITABLE ? (uint32_t)EPOLLOUT : 0);
}

static int add_connection(struct event_set *set, int fd, uint64_t tag)
{
    return control(set, EPOLL_CTL_ADD, fd, tag, wanted(set, EVENT_READABLE));
}

/* EPOLL_CTL_MOD reports what is ready now, also to who is waiting for edges. */
static int watch(struct event_set *set, int fd, uint64_t tag, uint32_t interest)
{
    return control(set, EPOLL_CTL_MOD, fd, tag, wanted(set, interest));
}

static int wait_events(struct event_set *set, struct event *events, int size, int timeout_ms)
{
    const int count = epoll_wait(set->epoll, set->events, size < EVENTS_MAX ? size : EVENTS_MAX, timeout_ms);

    if (count < 0)
        return errno == EINTR ? 0 : -1;
    for (int i = 0; i < count; i++) {
        const uint32_t ready = set->events[i].events;

        events[i].tag = set->events[i].data.u64;
        events[i].flags = (ready & EPOLLIN ? EVENT_READABLE : 0) | (ready & EPOLLOUT ? EVENT_WRITABLE : 0) |
                          (ready & (EPOLLRDHUP | EPOLLHUP | EPOLLERR) ? EVENT_PEER_CLOSED : 0);
    }
    return count;
}

const struct event_mechanism event_mechanism_epoll = {
    .name = "epoll",
    .level = true,
    .create = create_level,
    .destroy = destroy,
    .add_listener = add_listener,
    .remove_listener = remove_listener,
    .add_connection = add_connection,
    .watch = watch,
    .wait = wait_events,
};

const struct event_mechanism event_mechanism_epoll_et = {
    .name = "epoll-et",
    .create = create_edge,
    .destroy = destroy,
    .add_listener = add_listener,
    .remove_listener = remove_listener,
    .add_connection = add_connection,
    .watch = watch,
    .rearm = watch,
    .wait = wait_events,
};
