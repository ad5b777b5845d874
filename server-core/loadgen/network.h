/*
 * Sockets towards the server: which local address they get, and what it means when there is none to be had.
 */
#ifndef TRIMTAB_LOADGEN_NETWORK_H
#define TRIMTAB_LOADGEN_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define NETWORK_SOURCES_MAX      256
#define NETWORK_DESTINATIONS_MAX 256

struct network {
    /* Addresses of the server, all of one family, connected to in turn. */
    struct sockaddr_storage destinations[NETWORK_DESTINATIONS_MAX];
    size_t destination_count;
    size_t next_destination;
    socklen_t address_length; /* of every destination and source */
    /* Local addresses to bind to, in turn; with none the kernel chooses. */
    struct sockaddr_storage sources[NETWORK_SOURCES_MAX];
    size_t source_count;
    size_t next_source;    /* 0 with none */
    bool close_with_reset; /* connections end with RST instead of FIN */
    int receive_bytes;     /* receive buffer of a new socket, once there has been one; else 0 */
};

enum connect_status {
    CONNECT_UNDER_WAY,     /* writable once it is established */
    CONNECT_NO_PORT,       /* every local port of the address is taken */
    CONNECT_NO_DESCRIPTOR, /* limit of open files, of the process or the system, or memory for sockets */
    CONNECT_FAILED,        /* errno says why */
};

/* Adds an address of the server. Returns false with a sentence in `error` when it is of another family than
 * those before, or one too many; `name` is what messages call it. */
bool network_add_destination(struct network *network, const struct sockaddr_storage *address,
                             socklen_t length, const char *name, char *error, size_t error_size);

/* Has worker process number `worker` begin at another source and destination than its neighbours. */
void network_begin_at(struct network *network, unsigned worker);

/* Takes the comma-separated addresses `list`, which must be of the server's family, as sources. Returns false
 * with a sentence in `error` when one of them is no such address of this host. */
bool network_set_sources(struct network *network, const char *list, char *error, size_t error_size);

/* Takes 127.0.0.1 to 127.0.0.8 as sources when the server has an address of 127.0.0.0/8, so that ports stay
 * easy to find; for other servers the kernel goes on choosing. */
void network_set_default_sources(struct network *network);

/* Makes a non-blocking socket and begins to connect it, with a receive buffer of so many bytes unless that is
 * 0. *descriptor is the socket when the result is CONNECT_UNDER_WAY, and otherwise -1. */
enum connect_status network_connect(struct network *network, int receive_bytes, int *descriptor);

/* Says whether the connection that was begun is established. */
bool network_connected(int descriptor);

/* Begins to connect a socket that network_reset has left and that is bound to the source whose turn it is.
 * Returns what network_connect does. */
enum connect_status network_connect_again(struct network *network, int descriptor);

/* Ends the connection of a socket with RST and leaves the socket, bound to its source, for another one.
 * Returns false when it is not to be used again: its receive buffer has grown with what it received, so that
 * the next connection would announce a larger window than a new client does. */
bool network_reset(const struct network *network, int descriptor);

/* Raises the soft limit of open files to the hard one; an unprivileged process may. */
void network_raise_descriptor_limit(void);

#endif
