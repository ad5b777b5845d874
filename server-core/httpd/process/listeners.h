/*
 * The listening sockets. The master opens them before it forks, so all workers share them.
 *
 * What accepted sockets inherit is set here once, so that accepting one costs no further system call:
 * TCP_NODELAY (replies are handed over whole, so Nagle's algorithm could only delay their ends), SO_SNDBUF
 * and SO_SNDTIMEO.
 */
#ifndef TRIMTAB_HTTPD_PROCESS_LISTENERS_H
#define TRIMTAB_HTTPD_PROCESS_LISTENERS_H

#include "httpd/config/architecture.h"
#include "httpd/config/config.h"

#include <stddef.h>

/* Sockets that are open already. */
struct open_listeners {
    const struct knob_value *addresses; /* as the kernel gave them */
    const int *sockets;                 /* one set behind the other */
    unsigned sets;
};

/*
 * Opens `layout->listener_sets` sockets for each address of the configuration: sockets[] has room for so many
 * times as many and gets one set behind the other. One that was passed in (process/activation.h) is taken
 * where only one is wanted. Several sets share the ports (SO_REUSEPORT), and the
 * kernel divides the connections among them. A port 0 in the configuration is replaced by the one that the
 * kernel chose. Sockets of `before` (NULL: there are none), which has as many sets, are taken over where the
 * address is the same, and are left as they are: others serve by them still (listeners_adjust_kept()). Logs
 * what is wrong and returns -1, with none open that was not before; or 0.
 */
int listeners_open(struct config *config, const struct layout *layout, const struct open_listeners *before,
                   int *sockets);

/* Has those of `count` sockets that are among the `before_count` of before follow the configuration too. */
void listeners_adjust_kept(const struct config *config, const int *sockets, size_t count, const int *before,
                           size_t before_count);

/* Says whether a socket is one of `count`. */
bool listener_is_among(const int *sockets, size_t count, int socket);

/* Ends the listening for all processes that share a socket, so that whoever comes now is refused at once. One
 * that was passed in stays open for who has passed it in. */
void listener_end(int socket);

/* Sets how long a blocking send on connections accepted from now on may wait for the peer. */
void listeners_set_send_timeout(const int *sockets, size_t count, double seconds);

#endif
