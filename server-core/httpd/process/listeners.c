/*
 * See listeners.h.
 */
#include "httpd/process/listeners.h"

#include "httpd/log.h"
#include "httpd/process/activation.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static int set_option(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof(value));
}

/* The kernel silently caps what it does not grant (net.core.wmem_max); the administrator should know. */
static int set_send_buffer(int fd, int bytes)
{
    int granted = 0;
    socklen_t length = sizeof(granted);

    if (set_option(fd, SOL_SOCKET, SO_SNDBUF, bytes) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &granted, &length) != 0)
        return -1;
    granted /= 2; /* socket(7): the kernel doubles the value, for its own bookkeeping */
    if (granted < bytes)
        log_warning("sndbuf = %d: the kernel grants %d (net.core.wmem_max)", bytes, granted);
    return 0;
}

static void warn_of_capped_backlog(int backlog)
{
    FILE *file = fopen("/proc/sys/net/core/somaxconn", "re");
    int allowed;

    if (file && fscanf(file, "%d", &allowed) == 1 && allowed < backlog)
        log_warning("backlog = %d: the kernel grants %d (net.core.somaxconn)", backlog, allowed);
    if (file)
        fclose(file);
}

/* Sets what may differ from one reading of the configuration to the next. */
static int adjust(const struct config *config, int fd)
{
    const int send_buffer = (int)config_integer(config, KNOB_SNDBUF);

    listeners_set_send_timeout(&fd, 1, config_seconds(config, KNOB_REQUEST_TIMEOUT));
    return (send_buffer > 0 && set_send_buffer(fd, send_buffer) != 0) ||
                   listen(fd, (int)config_integer(config, KNOB_BACKLOG)) != 0
               ? -1
               : 0;
}

static int open_listener(const struct config *config, const struct layout *layout,
                         struct listen_address *address, bool shares_port)
{
    struct sockaddr *socket_address = (struct sockaddr *)&address->socket_address;
    const int mode = layout->blocking_listeners ? 0 : SOCK_NONBLOCK;
    const int fd = socket(socket_address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | mode, 0);

    if (fd < 0)
        return -1;
    if (set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1) != 0 ||
        (shares_port && set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1) != 0) ||
        set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1) != 0 ||
        (socket_address->sa_family == AF_INET6 && set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) != 0) ||
        bind(fd, socket_address, address->length) != 0 || adjust(config, fd) != 0 ||
        getsockname(fd, socket_address, &address->length) != 0) {
        const int error = errno;

        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* SO_REUSEPORT would let us join another server of the same user at its port, and take half its clients. */
static bool port_is_free(const struct config *config, const struct layout *layout,
                         struct listen_address *address)
{
    struct listen_address probed = *address;
    const int fd = open_listener(config, layout, &probed, false);

    if (fd < 0)
        return false;
    close(fd);
    return true;
}

bool listener_is_among(const int *sockets, size_t count, int socket)
{
    for (size_t i = 0; i < count; i++) {
        if (sockets[i] == socket)
            return true;
    }
    return false;
}

/* Finds the socket of set `set` for an address that is not among the `count` taken over before. Returns -1
 * when there is none, otherwise the socket, and the address becomes its own. */
static int take_over(const struct open_listeners *before, unsigned set, struct listen_address *address,
                     const int *taken, size_t count)
{
    for (size_t i = 0; i < before->addresses->count; i++) {
        const struct listen_address *open = &before->addresses->addresses[i];
        const int socket = before->sockets[set * before->addresses->count + i];

        if (address_matches(address, open) && !listener_is_among(taken, count, socket)) {
            *address = *open;
            return socket;
        }
    }
    return -1;
}

static bool is_kept(const struct open_listeners *before, int socket)
{
    return before && listener_is_among(before->sockets, before->sets * before->addresses->count, socket);
}

/* Gets the socket of set `set` for an address: one that is open, or else a new one. `sockets` are the `count`
 * before it. Returns -1 with errno set on failure. */
static int get_listener(const struct config *config, const struct layout *layout,
                        const struct open_listeners *before, unsigned set, struct listen_address *address,
                        const int *sockets, size_t count)
{
    const bool shares_port = layout->listener_sets > 1;
    int socket = before ? take_over(before, set, address, sockets, count) : -1;
    int error;

    if (socket < 0 && !shares_port)
        socket = activation_take(address, layout->blocking_listeners);
    if (socket < 0)
        return !shares_port || set > 0 || port_is_free(config, layout, address)
                   ? open_listener(config, layout, address, shares_port)
                   : -1;
    if (is_kept(before, socket) || adjust(config, socket) == 0)
        return socket;
    error = errno;
    close(socket);
    errno = error;
    return -1;
}

int listeners_open(struct config *config, const struct layout *layout, const struct open_listeners *before,
                   int *sockets)
{
    struct knob_value *addresses = &config->values[KNOB_LISTEN];
    const size_t total = layout->listener_sets * addresses->count;

    for (size_t i = 0; i < total; i++) {
        struct listen_address *address = &addresses->addresses[i % addresses->count];

        sockets[i] =
            get_listener(config, layout, before, (unsigned)(i / addresses->count), address, sockets, i);
        if (sockets[i] < 0) {
            char text[ADDRESS_TEXT_MAX];
            const int error = errno;

            address_format(address, text);
            log_error("cannot listen at %s: %s", text,
                      error == EADDRINUSE ? "the port is in use by another server" : strerror(error));
            while (i-- > 0) {
                if (!is_kept(before, sockets[i]))
                    close(sockets[i]);
            }
            return -1;
        }
    }
    warn_of_capped_backlog((int)config_integer(config, KNOB_BACKLOG));
    return 0;
}

void listeners_adjust_kept(const struct config *config, const int *sockets, size_t count, const int *before,
                           size_t before_count)
{
    for (size_t i = 0; i < count; i++) {
        if (listener_is_among(before, before_count, sockets[i]) && adjust(config, sockets[i]) != 0)
            log_errno("cannot adjust a listener");
    }
}

void listener_end(int socket)
{
    if (!activation_owns(socket))
        shutdown(socket, SHUT_RD);
}

void listeners_set_send_timeout(const int *sockets, size_t count, double seconds)
{
    const struct timeval timeout = {
        .tv_sec = (time_t)seconds,
        .tv_usec = (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6),
    };

    for (size_t i = 0; i < count; i++) {
        if (setsockopt(sockets[i], SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) != 0)
            log_errno("cannot set the send timeout");
    }
}
