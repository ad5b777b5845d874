/*
 * How many connections an event loop accepts before it goes on working: the knob `accept_limit`.
 *
 * A number is a fixed limit and `inf` none. Accepting much keeps the kernel's queue short but has the clients
 * that are being served wait; accepting little serves these and has others turned away when the queue is
 * full. Which is better depends on the work (Brecht, Pariag and Gammo, "accept()able Strategies for Improving
 * Web Server Performance", 2004), and so on the moment: `auto` looks at both queues in every turn.
 */
#ifndef TRIMTAB_HTTPD_CONNECTION_ACCEPT_POLICY_H
#define TRIMTAB_HTTPD_CONNECTION_ACCEPT_POLICY_H

#include <stdint.h>

/*
 * Returns the limit of the next accept phase for `auto`. `waiting` connections are in the kernel's accept
 * queue, which has room for `backlog`; `ready` connections have work for this turn.
 *
 * The share of the waiting that is accepted is their share of all that waits, at the one end or the other: of
 * 10 beside 90 that have work 1, of 90 beside 10 that have work 81, all if nobody has. So the longer queue
 * is always the one that is emptied more. From three quarters of the backlog on all are accepted, for when
 * the queue is full the kernel turns clients away.
 */
int64_t accept_policy_balance(uint32_t waiting, uint32_t backlog, uint32_t ready);

/* The same for a listening socket, of which the kernel tells both lengths (tcp(7), TCP_INFO). If it does not,
 * there is no limit. */
int64_t accept_policy_balance_listener(int listener, uint32_t ready);

/* Returns how many connections wait at a listening socket; 0 if the kernel does not tell. */
uint32_t accept_policy_waiting(int listener);

/* Returns how many connections may wait at a listening socket; UINT32_MAX if the kernel does not tell. */
uint32_t accept_policy_backlog(int listener);

#endif
