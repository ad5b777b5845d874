/*
 * The listening sockets. The master opens them before it forks, so all workers share them.
 *
 * What accepted sockets inherit is set here once, so that accepting one costs no further system call:
 * TCP_NODELAY (replies are handed over whole, so Nagle's algorithm could only delay their ends), SO_SNDBUF
 * and SO_SNDTIMEO.
 */
#ifndef TRIMTAB_HTTPD_LISTENERS_H
#define TRIMTAB_HTTPD_LISTENERS_H

#include "httpd/config.h"

#include <stddef.h>

/*
 * Opens `sets` sockets for each address of the configuration: sockets[] has room for `sets` times as many and
 * gets one set behind the other. Several sets share the ports (SO_REUSEPORT), and the kernel divides the
 * connections among them. A port 0 in the configuration is replaced by the one that the kernel chose. Logs
 * what is wrong and returns -1, or 0.
 */
int listeners_open(struct config *config, unsigned sets, int *sockets);

/* Sets how long a blocking send on connections accepted from now on may wait for the peer. */
void listeners_set_send_timeout(const int *sockets, size_t count, double seconds);

#endif
