/*
 * The Unix socket of the master for statistics and control, and its clients.
 *
 * It lives in the master's poll loop, and the master serves no requests, so nothing that a client does here
 * can stall a worker. Neither can it stall the master: nothing blocks; a client whose answer is not taken
 * gets no further command read; a line is at most 1 KB; when all places are taken, the client that has been
 * silent longest gives its place to a new one; and when descriptors have run out, new clients wait.
 */
#ifndef TRIMTAB_HTTPD_IO_CONTROL_SOCKET_H
#define TRIMTAB_HTTPD_IO_CONTROL_SOCKET_H

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>

#define CONTROL_CLIENTS_MAX 64

/* unix(7) gives an address 107 bytes. A socket whose path is longer is reached by a descriptor of its
 * directory (/proc/self/fd/N/NAME), so that only its name has to be so short. */
#define CONTROL_SOCKET_NAME_MAX 80

/* Says whether a socket can be at `path`: its name is not too long. */
bool control_socket_can_be_at(const char *path);

/*
 * Creates the socket with mode 0600 at `path`. A socket left there by a server that died is replaced; one at
 * which a server answers is not. Logs what is wrong and returns -1, or 0.
 */
int control_socket_open(const char *path);

/* Removes the socket and disconnects all clients, after a last attempt to hand them their answers. */
void control_socket_close(void);

/* Closes the descriptors in a process forked from the master. */
void control_socket_close_in_child(void);

/* Fills in what is to be polled (up to 1 + CONTROL_CLIENTS_MAX entries) and returns the number of entries.
 * `*timeout_ms` becomes the time until there is something else to poll, if that is sooner (-1: never). */
nfds_t control_socket_watch(struct pollfd *polled, int *timeout_ms);

/* Deals with what poll(2) reported for the entries of control_socket_watch(). `execute`, which gets `user`,
 * carries out a line and writes its answer; NULL in the place of a line stands for one that was too long. */
void control_socket_serve(const struct pollfd *polled, nfds_t count,
                          void (*execute)(void *user, char *line, FILE *out), void *user);

#endif
