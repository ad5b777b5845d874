/*
 * See kept_sockets.h.
 */
#include "kept_sockets.h"

#include "memory.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* More sockets than this wait only while the rate falls. */
#define KEPT_MAX 64

void kept_socket_discard(struct connection *c)
{
    int error = errno;

    if (c->descriptor >= 0)
        close(c->descriptor);
    free(c);
    errno = error;
}

bool kept_socket_put(struct connections *all, struct connection *c)
{
    if (!all->network.close_with_reset || c->slow || all->idle_count == KEPT_MAX ||
        !network_reset(&all->network, c->descriptor))
        return false;
    c->state = IDLE;
    c->next_idle = all->idle[c->source];
    all->idle[c->source] = c;
    all->idle_count++;
    return true;
}

/* Returns a connection without a session whose socket is bound to `source`, NULL when there is none. */
static struct connection *take(struct connections *all, size_t source)
{
    struct connection *c = all->idle[source];

    if (c != NULL) {
        all->idle[source] = c->next_idle;
        all->idle_count--;
    }
    return c;
}

enum connect_status kept_socket_connect(struct connections *all, bool slow, struct connection **connection)
{
    size_t source = all->network.next_source;
    struct connection *c = slow ? NULL : take(all, source);
    enum connect_status status;
    int descriptor;

    if (c != NULL) {
        status = network_connect_again(&all->network, c->descriptor);
        if (status != CONNECT_UNDER_WAY)
            kept_socket_discard(c);
    } else {
        status = network_connect(&all->network, slow ? all->slow_window_bytes : 0, &descriptor);
        if (status == CONNECT_UNDER_WAY) {
            c = memory_needed(malloc(sizeof(*c)));
            *c = (struct connection){.descriptor = descriptor, .source = source};
        }
    }
    *connection = c;
    return status;
}

void kept_sockets_free(struct connections *all)
{
    for (size_t source = 0; source < NETWORK_SOURCES_MAX; source++)
        while (all->idle[source] != NULL)
            kept_socket_discard(take(all, source));
}
