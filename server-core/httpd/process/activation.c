/*
 * See activation.h.
 */
#include "httpd/process/activation.h"

#include "httpd/log.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define FIRST_DESCRIPTOR 3
#define SOCKETS_MAX      64

static struct passed {
    int fd;
    struct listen_address address;
    bool taken;
} all[SOCKETS_MAX];
static int count;

/* Reads where a socket listens. Returns false if it is no TCP socket that does. */
static bool read_address(int fd, struct listen_address *address)
{
    int listening = 0;
    socklen_t length = sizeof(listening);

    address->length = sizeof(address->socket_address);
    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) == 0 && listening &&
           getsockname(fd, (struct sockaddr *)&address->socket_address, &address->length) == 0 &&
           (address->socket_address.ss_family == AF_INET || address->socket_address.ss_family == AF_INET6);
}

bool activation_open(void)
{
    const char *pid = getenv("LISTEN_PID");
    const char *sockets = getenv("LISTEN_FDS");
    const int wanted = pid && sockets && atol(pid) == getpid() ? atoi(sockets) : 0;

    if (wanted > SOCKETS_MAX) {
        log_error("%d sockets were passed in: expected at most %d", wanted, SOCKETS_MAX);
        return false;
    }
    for (count = 0; count < wanted; count++) {
        struct passed *passed = &all[count];

        passed->fd = FIRST_DESCRIPTOR + count;
        if (!read_address(passed->fd, &passed->address)) {
            log_error("descriptor %d, which was passed in: expected a TCP socket that listens", passed->fd);
            return false;
        }
        fcntl(passed->fd, F_SETFD, FD_CLOEXEC);
    }
    return true;
}

int activation_take(struct listen_address *address, bool blocking)
{
    for (int i = 0; i < count; i++) {
        const int on = 1;
        int flags;

        if (all[i].taken || !address_matches(address, &all[i].address))
            continue;
        flags = fcntl(all[i].fd, F_GETFL);
        if (flags < 0 ||
            fcntl(all[i].fd, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK) != 0 ||
            setsockopt(all[i].fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0)
            return -1;
        all[i].taken = true;
        *address = all[i].address;
        return fcntl(all[i].fd, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
    }
    return -1;
}

bool activation_owns(int socket)
{
    struct listen_address address;

    if (count == 0 || !read_address(socket, &address))
        return false;
    for (int i = 0; i < count; i++) {
        if (address_matches(&address, &all[i].address))
            return true;
    }
    return false;
}

/* Says whether a socket is at one of the addresses. */
static bool is_named(const struct passed *passed, const struct listen_address *addresses,
                     size_t address_count)
{
    for (size_t i = 0; i < address_count; i++) {
        if (address_matches(&addresses[i], &passed->address))
            return true;
    }
    return false;
}

bool activation_all_named(const struct listen_address *addresses, size_t address_count)
{
    bool ok = true;

    for (int i = 0; i < count; i++) {
        char text[ADDRESS_TEXT_MAX];

        if (all[i].taken && is_named(&all[i], addresses, address_count))
            continue;
        address_format(&all[i].address, text);
        log_error("a socket at %s was passed in: expected that address in `listen`", text);
        ok = false;
    }
    return ok;
}
