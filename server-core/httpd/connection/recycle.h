/*
 * Who gives way when all places are taken and a client waits: the connection that has been idle longest,
 * without a request or a part of one. So clients that keep connections open and ask for nothing cannot keep
 * others out. One that was busy a moment ago is spared: its next request may be on its way, and closing it
 * would only have it come back.
 */
#ifndef TRIMTAB_HTTPD_CONNECTION_RECYCLE_H
#define TRIMTAB_HTTPD_CONNECTION_RECYCLE_H

#include "common/clock.h"
#include "httpd/connection/connection.h"

#define RECYCLE_IDLE_NS (500 * NS_PER_MS) /* a connection gives way that has been idle for so long */

/* Of a worker that accepts. */
struct recycling {
    bool possible;     /* there was a connection that may give way when that was last looked at */
    uint64_t again_ns; /* there is none before */
};

/* Says whether a worker whose places are all taken should accept all the same. It looks through its
 * connections no more often than the answer can change. */
bool recycling_is_possible(struct recycling *recycling, struct worker *worker);

/* To be called when a client waits: looks again. */
bool recycling_look(struct recycling *recycling, struct worker *worker);

/* Returns the idle connection that gives way first, of those that `fits` says so of (NULL: of all); NULL if
 * none may. */
struct connection *recycle_choose(struct worker *worker,
                                  bool (*fits)(const struct connection *connection, const void *user),
                                  const void *user);

/* Returns how many connections all workers that accept at the same listeners have open. */
uint64_t recycle_connections_open(const struct worker *worker);

#endif
