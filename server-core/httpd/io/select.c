/*
 * select(2): the kernel is given all descriptors with every call, as bits of two sets.
 *
 * A set has FD_SETSIZE bits, so no descriptor may have a higher number; config_check_host() sees to it that
 * none gets one. Every call copies and scans the sets up to the highest descriptor.
 */
#include "httpd/io/mechanisms.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/select.h>

struct event_set {
    fd_set readable, writable; /* what is watched */
    int highest;               /* descriptor in either; -1: none */
    uint64_t tags[FD_SETSIZE];
};

static struct event_set *create(void)
{
    struct event_set *set = malloc(sizeof(*set));

    if (!set)
        return NULL;
    FD_ZERO(&set->readable);
    FD_ZERO(&set->writable);
    set->highest = -1;
    return set;
}

static void destroy(struct event_set *set)
{
    free(set);
}

static int watch(struct event_set *set, int fd, uint64_t tag, uint32_t interest)
{
    if (fd >= FD_SETSIZE) {
        errno = EMFILE;
        return -1;
    }
    FD_CLR(fd, &set->readable);
    FD_CLR(fd, &set->writable);
    if (interest & EVENT_READABLE)
        FD_SET(fd, &set->readable);
    if (interest & EVENT_WRITABLE)
        FD_SET(fd, &set->writable);
    if (fd > set->highest)
        set->highest = fd;
    set->tags[fd] = tag;
    return 0;
}

static int add(struct event_set *set, int fd, uint64_t tag)
{
    return watch(set, fd, tag, EVENT_READABLE);
}

static void remove_connection(struct event_set *set, int fd)
{
    FD_CLR(fd, &set->readable);
    FD_CLR(fd, &set->writable);
    while (set->highest >= 0 && !FD_ISSET(set->highest, &set->readable) &&
           !FD_ISSET(set->highest, &set->writable))
        set->highest--;
}

static int remove_listener(struct event_set *set, int fd)
{
    remove_connection(set, fd);
    return 0;
}

static int wait_events(struct event_set *set, struct event *events, int size, int timeout_ms)
{
    struct timeval timeout = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
    fd_set readable = set->readable, writable = set->writable;
    int left = select(set->highest + 1, &readable, &writable, NULL, timeout_ms < 0 ? NULL : &timeout);
    int count = 0;

    if (left < 0)
        return errno == EINTR ? 0 : -1;
    for (int fd = 0; left > 0 && count < size && fd <= set->highest; fd++) {
        const uint32_t flags =
            (FD_ISSET(fd, &readable) ? EVENT_READABLE : 0) | (FD_ISSET(fd, &writable) ? EVENT_WRITABLE : 0);

        if (flags == 0)
            continue;
        left -= flags == (EVENT_READABLE | EVENT_WRITABLE) ? 2 : 1; /* select counts bits */
        events[count++] = (struct event){.tag = set->tags[fd], .flags = flags};
    }
    return count;
}

const struct event_mechanism event_mechanism_select = {
    .name = "select",
    .level = true,
    .descriptors = FD_SETSIZE,
    .create = create,
    .destroy = destroy,
    .add_listener = add,
    .remove_listener = remove_listener,
    .add_connection = add,
    .remove_connection = remove_connection,
    .watch = watch,
    .wait = wait_events,
};
