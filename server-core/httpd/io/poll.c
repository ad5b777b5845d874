/*
 * poll(2): the kernel is given all descriptors with every call, as an array.
 *
 * The array has no holes: a descriptor that leaves is replaced by the last one. An index from descriptor to
 * place finds it; it is as long as the largest descriptor.
 */
#include "httpd/io/mechanisms.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#define PLACES_MIN 64

struct event_set {
    struct pollfd *polled;
    uint64_t *tags; /* of the same places */
    size_t count, capacity;
    size_t first;       /* where the next scan begins: nobody is always last */
    uint32_t *place_of; /* descriptor -> place */
    size_t descriptors; /* that place_of has room for */
};

static struct event_set *create(void)
{
    return calloc(1, sizeof(struct event_set));
}

static void destroy(struct event_set *set)
{
    free(set->polled);
    free(set->tags);
    free(set->place_of);
    free(set);
}

/* Makes *array at least `needed` elements long. Returns false when there is no memory. */
static bool grow(void *array, size_t element, size_t *length, size_t needed)
{
    size_t grown = *length ? *length : PLACES_MIN;
    void *moved;

    while (grown < needed)
        grown *= 2;
    if (grown == *length)
        return true;
    moved = realloc(*(void **)array, grown * element);
    if (!moved)
        return false;
    *(void **)array = moved;
    *length = grown;
    return true;
}

static int add(struct event_set *set, int fd, uint64_t tag)
{
    size_t tags = set->capacity;

    if (!grow(&set->tags, sizeof(*set->tags), &tags, set->count + 1) ||
        !grow(&set->polled, sizeof(*set->polled), &set->capacity, set->count + 1) ||
        !grow(&set->place_of, sizeof(*set->place_of), &set->descriptors, (size_t)fd + 1)) {
        errno = ENOMEM;
        return -1;
    }
    set->polled[set->count] = (struct pollfd){.fd = fd, .events = POLLIN | POLLRDHUP};
    set->tags[set->count] = tag;
    set->place_of[fd] = (uint32_t)set->count++;
    return 0;
}

static void remove_connection(struct event_set *set, int fd)
{
    const uint32_t place = set->place_of[fd];

    set->count--;
    set->polled[place] = set->polled[set->count];
    set->tags[place] = set->tags[set->count];
    set->place_of[set->polled[place].fd] = place;
}

static int remove_listener(struct event_set *set, int fd)
{
    remove_connection(set, fd);
    return 0;
}

static int watch(struct event_set *set, int fd, uint64_t tag, uint32_t interest)
{
    const uint32_t place = set->place_of[fd];

    set->polled[place].events = (short)((interest & EVENT_READABLE ? POLLIN | POLLRDHUP : 0) |
                                        (interest & EVENT_WRITABLE ? POLLOUT : 0));
    set->tags[place] = tag;
    return 0;
}

static int wait_events(struct event_set *set, struct event *events, int size, int timeout_ms)
{
    int left = poll(set->polled, set->count, timeout_ms);
    int count = 0;

    if (left < 0)
        return errno == EINTR ? 0 : -1;
    if (set->first >= set->count)
        set->first = 0;
    for (size_t place = set->first; left > 0 && count < size;) {
        const short ready = set->polled[place].revents;

        if (ready) {
            events[count++] = (struct event){
                .tag = set->tags[place],
                .flags = (ready & POLLIN ? EVENT_READABLE : 0) | (ready & POLLOUT ? EVENT_WRITABLE : 0) |
                         (ready & (POLLRDHUP | POLLHUP | POLLERR) ? EVENT_PEER_CLOSED : 0),
            };
            left--;
        }
        place = place + 1 < set->count ? place + 1 : 0;
        if (left > 0 && count == size)
            set->first = place;
    }
    return count;
}

const struct event_mechanism event_mechanism_poll = {
    .name = "poll",
    .level = true,
    .create = create,
    .destroy = destroy,
    .add_listener = add,
    .remove_listener = remove_listener,
    .add_connection = add,
    .remove_connection = remove_connection,
    .watch = watch,
    .wait = wait_events,
};
