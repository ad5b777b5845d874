/*
 * See network.h.
 */
#include "network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* connect(2) looks for a free port among those of one parity first, one by one (__inet_hash_connect in
 * net/ipv4/inet_hashtables.c). With the usual range of 28,232 ports that search takes milliseconds once an
 * address has some 14,000 connections, open or closed within the last second. Eight addresses stay far from
 * that with all the descriptors that a process commonly may have, and ten thousand closed connections a
 * second on top. */
#define LOOPBACK_SOURCES "127.0.0.1,127.0.0.2,127.0.0.3,127.0.0.4,127.0.0.5,127.0.0.6,127.0.0.7,127.0.0.8"

bool network_add_destination(struct network *network, const struct sockaddr_storage *address,
                             socklen_t length, const char *name, char *error, size_t error_size)
{
    if (network->destination_count == NETWORK_DESTINATIONS_MAX) {
        snprintf(error, error_size, "--destination: more than %d addresses", NETWORK_DESTINATIONS_MAX);
        return false;
    }
    if (network->destination_count > 0 && address->ss_family != network->destinations[0].ss_family) {
        snprintf(error, error_size, "--destination %s: expected an IPv%c address, as the first one is", name,
                 network->destinations[0].ss_family == AF_INET ? '4' : '6');
        return false;
    }
    network->destinations[network->destination_count++] = *address;
    network->address_length = length;
    return true;
}

void network_begin_at(struct network *network, unsigned worker)
{
    network->next_destination = worker % network->destination_count;
    network->next_source = network->source_count == 0 ? 0 : worker % network->source_count;
}

static bool parse_source(const struct network *network, const char *text, struct sockaddr_storage *source)
{
    *source = (struct sockaddr_storage){.ss_family = network->destinations[0].ss_family};
    if (source->ss_family == AF_INET)
        return inet_pton(AF_INET, text, &((struct sockaddr_in *)source)->sin_addr) == 1;
    return inet_pton(AF_INET6, text, &((struct sockaddr_in6 *)source)->sin6_addr) == 1;
}

/* Says whether this host has the address, by binding a socket to it. */
static bool is_local(const struct network *network, const struct sockaddr_storage *source)
{
    int descriptor = socket(source->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool bound =
        descriptor >= 0 && bind(descriptor, (const struct sockaddr *)source, network->address_length) == 0;

    if (descriptor >= 0)
        close(descriptor);
    return bound;
}

bool network_set_sources(struct network *network, const char *list, char *error, size_t error_size)
{
    while (true) {
        char text[INET6_ADDRSTRLEN];
        size_t length = strcspn(list, ",");

        if (network->source_count == NETWORK_SOURCES_MAX) {
            snprintf(error, error_size, "--source: more than %d addresses", NETWORK_SOURCES_MAX);
            return false;
        }
        snprintf(text, sizeof(text), "%.*s", (int)length, list);
        if (length >= sizeof(text) ||
            !parse_source(network, text, &network->sources[network->source_count])) {
            snprintf(error, error_size, "--source %.*s: expected an IPv%c address, as the server's is",
                     (int)length, list, network->destinations[0].ss_family == AF_INET ? '4' : '6');
            return false;
        }
        if (!is_local(network, &network->sources[network->source_count])) {
            snprintf(error, error_size, "--source %s: is not an address of this host", text);
            return false;
        }
        network->source_count++;
        if (list[length] == '\0')
            return true;
        list += length + 1;
    }
}

void network_set_default_sources(struct network *network)
{
    const struct sockaddr_in *server = (const struct sockaddr_in *)&network->destinations[0];
    char error[128];

    if (server->sin_family == AF_INET && ntohl(server->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET &&
        !network_set_sources(network, LOOPBACK_SOURCES, error, sizeof(error)))
        network->source_count = 0; /* a loopback interface without 127.0.0.0/8: let the kernel choose */
}

static enum connect_status classify(int error)
{
    switch (error) {
    case EADDRNOTAVAIL: /* ip(7): all ephemeral ports in use */
    case EADDRINUSE:
        return CONNECT_NO_PORT;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
        return CONNECT_NO_DESCRIPTOR;
    default:
        return CONNECT_FAILED;
    }
}

/* Binds to the source whose turn it is; the port is left to connect(2), which may share it between
 * destinations. */
static int bind_source(const struct network *network, int descriptor)
{
    const struct sockaddr_storage *source = &network->sources[network->next_source];
    const int on = 1;

    if (setsockopt(descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on)) < 0)
        return -1;
    return bind(descriptor, (const struct sockaddr *)source, network->address_length);
}

/* socket(7): with a linger time of 0, close(2) sends RST and forgets the connection at once. */
static int arm_reset(int descriptor)
{
    const struct linger linger = {.l_onoff = 1, .l_linger = 0};

    return setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
}

/* The size of a socket's receive buffer, 0 when it cannot be told. */
static int receive_bytes_of(int descriptor)
{
    int bytes = 0;
    socklen_t length = sizeof(bytes);

    return getsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, &length) == 0 ? bytes : 0;
}

/* Has the next connection go from the next source to the next destination. */
static void take_turns(struct network *network)
{
    network->next_destination = (network->next_destination + 1) % network->destination_count;
    if (network->source_count > 0)
        network->next_source = (network->next_source + 1) % network->source_count;
}

/* Begins to connect to the destination whose turn it is. Returns false when that fails, and errno says why.
 */
static bool begin_connect(const struct network *network, int descriptor)
{
    const struct sockaddr *server =
        (const struct sockaddr *)&network->destinations[network->next_destination];

    return connect(descriptor, server, network->address_length) == 0 || errno == EINPROGRESS;
}

enum connect_status network_connect(struct network *network, int receive_bytes, int *descriptor)
{
    int made = socket(network->destinations[0].ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (network->receive_bytes == 0 && made >= 0)
        network->receive_bytes = receive_bytes_of(made);
    /* The window that the SYN announces follows from the buffer, so it must be set before (tcp(7)). */
    bool begun = made >= 0 &&
                 (receive_bytes == 0 ||
                  setsockopt(made, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes)) == 0) &&
                 (!network->close_with_reset || arm_reset(made) == 0) &&
                 (network->source_count == 0 || bind_source(network, made) == 0) &&
                 begin_connect(network, made);
    int error = errno;

    take_turns(network);
    *descriptor = begun ? made : -1;
    if (begun)
        return CONNECT_UNDER_WAY;
    if (made >= 0)
        close(made);
    errno = error;
    return classify(error);
}

bool network_connected(int descriptor)
{
    struct sockaddr_storage peer;
    socklen_t length = sizeof(peer);

    return getpeername(descriptor, (struct sockaddr *)&peer, &length) == 0; /* ENOTCONN until then */
}

enum connect_status network_connect_again(struct network *network, int descriptor)
{
    bool begun = begin_connect(network, descriptor);

    take_turns(network);
    return begun ? CONNECT_UNDER_WAY : classify(errno);
}

bool network_reset(const struct network *network, int descriptor)
{
    const struct sockaddr nowhere = {.sa_family = AF_UNSPEC}; /* connect(2): dissolves the association */

    return receive_bytes_of(descriptor) == network->receive_bytes &&
           connect(descriptor, &nowhere, sizeof(nowhere)) == 0;
}

void network_raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}
