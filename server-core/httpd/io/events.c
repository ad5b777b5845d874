/*
 * The table of event mechanisms; see events.h.
 */
#include "httpd/io/events.h"

extern const struct event_mechanism event_mechanism_epoll_et;

static const struct event_mechanism *const MECHANISMS[] = {
    &event_mechanism_epoll_et,
};

const struct event_mechanism *event_mechanism_at(size_t index)
{
    return index < sizeof(MECHANISMS) / sizeof(*MECHANISMS) ? MECHANISMS[index] : NULL;
}
