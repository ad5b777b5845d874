/*
 * The connections of processes that share their descriptors, in memory that outlives them.
 *
 * When a process dies the kernel closes its descriptors only if nobody shares them. So somebody else must
 * know which were its connections: the structures themselves are kept where the master can see them. A
 * process takes them by the chunk, a chunk stays with its owner, and an owner that was replaced hands its
 * chunks down.
 */
#ifndef TRIMTAB_HTTPD_CONNECTION_CONNECTION_POOL_H
#define TRIMTAB_HTTPD_CONNECTION_CONNECTION_POOL_H

#include "httpd/connection/connection.h"

struct connection_pool;

/*
 * Makes a pool for up to `connections` of `owners` processes, which lasts until they have all ended. Returns
 * NULL with errno set on failure.
 */
struct connection_pool *connection_pool_create(size_t connections, unsigned owners);

/* Returns a further zeroed chunk of CONNECTIONS_PER_CHUNK for `owner`, or NULL when the pool is used up. */
struct connection *connection_pool_take(struct connection_pool *pool, unsigned owner);

/* Calls `visit` with each chunk of the owner. */
void connection_pool_for_each(struct connection_pool *pool, unsigned owner,
                              void (*visit)(void *user, struct connection *chunk), void *user);

/* Closes what a dead owner has left open, gives back the files it was sending, and zeroes its chunks. */
void connection_pool_bury(struct connection_pool *pool, unsigned owner);

#endif
