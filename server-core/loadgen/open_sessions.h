/*
 * All open sessions of a worker: how they start, what happens to them by events, alarms and timeouts, and
 * which way of asking theirs is.
 */
#ifndef TRIMTAB_LOADGEN_OPEN_SESSIONS_H
#define TRIMTAB_LOADGEN_OPEN_SESSIONS_H

#include "loadgen/connections.h"

#include <stdint.h>

/* Gets worker number `worker` ready for no open session. The members before `epoll`, and that one, are the
 * caller's to set. */
void connections_init(struct connections *all, unsigned worker);

/* Frees what connections_init and the sessions since have taken. All sessions must have ended. */
void connections_free(struct connections *all);

/* Starts session number `session` of the plan, which was to start at `intended_ns`, and accounts for it. */
void connections_start(struct connections *all, uint32_t session, uint64_t intended_ns);

/* Handles the epoll events of one socket; `connection` is the pointer registered with it. */
void connection_handle(struct connections *all, struct connection *connection, uint32_t events);

/* Goes on with up to `limit` sessions that are to ask, or to read, again by `now_ns`. */
void connections_wake(struct connections *all, uint64_t now_ns, unsigned limit);

/* Ends the sessions whose timeouts are over at `now_ns`. */
void connections_expire(struct connections *all, uint64_t now_ns);

/* Ends all sessions; the requests that they are at count as abandoned. */
void connections_interrupt(struct connections *all);

/* Returns when connections_wake or connections_expire will have something to do, TIMER_NEVER if nothing. */
uint64_t connections_due_ns(const struct connections *all);

#endif
