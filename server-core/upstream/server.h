/*
 * The upstream's connections: HTTP/1.x over TCP, persistent, one request of a connection at a time.
 *
 *     GET /dynamic/drawn?size=BYTES&us=MICROSECONDS   BYTES of content after that time in service (work.h)
 *     GET /status                                     what has been counted, as JSON, at once
 */
#ifndef TRIMTAB_UPSTREAM_SERVER_H
#define TRIMTAB_UPSTREAM_SERVER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/* Listens at the address. Returns the socket, -1 with errno set. */
int server_listen(const struct sockaddr_in *address);

/* Serves at that socket, `concurrency` requests at a time, until a signal ends the process. Returns false,
 * with errno set, if it cannot. */
bool server_run(int listener, uint64_t concurrency);

#endif
