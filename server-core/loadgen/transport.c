/*
 * See transport.h.
 */
#include "transport.h"

#include "connections.h"

#include <sys/syscall.h>
#include <unistd.h>

static ssize_t open_plain(struct connections *all, struct connection *c)
{
    (void)all;
    (void)c;
    return 1;
}

static ssize_t send_plain(struct connections *all, struct connection *c, const void *data, size_t size)
{
    (void)all;
    return send(c->descriptor, data, size, MSG_NOSIGNAL);
}

/* Called without libc's wrapper, as the sanitizers take that for writing to `buffer`, which MSG_TRUNC does
 * not do (tcp(7)). */
static ssize_t receive_plain(struct connections *all, struct connection *c, void *buffer, size_t size)
{
    (void)all;
    return syscall(SYS_recvfrom, c->descriptor, buffer, size, buffer == NULL ? MSG_TRUNC : 0, NULL, NULL);
}

static void close_plain(struct connections *all, struct connection *c)
{
    (void)all;
    (void)c;
}

static bool drained_plain(const struct connection *c, bool filled)
{
    (void)c;
    return !filled;
}

/* The end of a stream of TCP is one that was sent. */
static bool said_farewell_plain(const struct connection *c)
{
    (void)c;
    return true;
}

const struct transport transport_plain = {
    .open = open_plain,
    .send = send_plain,
    .receive = receive_plain,
    .close = close_plain,
    .drained = drained_plain,
    .said_farewell = said_farewell_plain,
};
