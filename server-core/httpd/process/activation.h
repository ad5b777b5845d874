/*
 * Listening sockets that the service manager has opened and passed in (socket activation, sd_listen_fds(3)):
 * LISTEN_FDS of them, from descriptor 3 on, if LISTEN_PID is ours.
 *
 * They stay its sockets: clients that come while nobody serves wait in their queues. So they are used through
 * duplicates and never shut down.
 */
#ifndef TRIMTAB_HTTPD_PROCESS_ACTIVATION_H
#define TRIMTAB_HTTPD_PROCESS_ACTIVATION_H

#include "httpd/config/address.h"

#include <stdbool.h>

/* Takes note of what was passed in, if anything. Logs what cannot be served and returns false. */
bool activation_open(void);

/* Returns a duplicate of the socket at an address (port 0: at any port) that was not taken before, in
 * blocking mode or not, and makes the address its own; -1: there is none. */
int activation_take(struct listen_address *address, bool blocking);

/* Says whether a socket is at an address at which one was passed in. */
bool activation_owns(int socket);

/* Says whether each socket that was passed in is at one of the addresses, which are those of open listeners;
 * logs those that are not. */
bool activation_all_named(const struct listen_address *addresses, size_t address_count);

#endif
