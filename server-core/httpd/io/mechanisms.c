/*
 * The table of event mechanisms; see events.h.
 */
#include "httpd/io/mechanisms.h"

static const struct event_mechanism *const MECHANISMS[] = {
    &event_mechanism_select,   &event_mechanism_poll,     &event_mechanism_epoll,
    &event_mechanism_epoll_et, &event_mechanism_io_uring,
};

const struct event_mechanism *event_mechanism_at(size_t index)
{
    return index < sizeof(MECHANISMS) / sizeof(*MECHANISMS) ? MECHANISMS[index] : NULL;
}
