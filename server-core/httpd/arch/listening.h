/*
 * When a worker has its listeners in its event set, and who hears of a client that it does not take.
 *
 * THE HAZARD. The kernel tells an arrival to one sleeping worker (EPOLLEXCLUSIVE). If that one does not take
 * the client, because it has been full since or because another has a place, nobody else ever hears of it.
 *
 * THE RULES.
 *   1. A worker that cannot accept takes its listeners away. Putting them back reports a queue that is not
 *      empty, so nothing is missed in between.
 *   2. Who has taken its listeners away then looks whether a client waits there. If so it calls all others
 *      that say that they listen; who is called puts its listeners in anew, and so hears of the client.
 *   3. A worker says that it listens before it puts its listeners in, and takes that back after it has taken
 *      them away. So whoever is not called puts them in later, and hears of the client by that.
 * What is called declines in the same way, so a client that waits is known to somebody who is awake until it
 * has been accepted, or nobody listens. tests/httpd/test_listening.c tries all interleavings.
 *
 * There is no I/O here: the event loop asks for the next step, takes it, and says what has come of it.
 */
#ifndef TRIMTAB_HTTPD_ARCH_LISTENING_H
#define TRIMTAB_HTTPD_ARCH_LISTENING_H

#include <stdbool.h>

/* Of a worker. Zeroed: it does not listen. */
struct listening {
    bool announced; /* it has said that it listens */
    bool in_set;    /* its listeners are in its event set */
    bool anew;      /* they are to be taken out and put in again */
    bool look;      /* they have been taken away, and whether somebody waits there is not known */
    bool pass_on;   /* somebody does */
};

enum listening_step {
    LISTENING_STAYS, /* nothing is to be done: the worker may wait for events */
    LISTENING_ANNOUNCE,
    LISTENING_ADD,
    LISTENING_REMOVE,
    LISTENING_RETRACT, /* what was announced */
    LISTENING_LOOK,    /* whether a client waits at the listeners */
    LISTENING_PASS_ON, /* call those that say that they listen */
};

/* Returns the next step of a worker that could take another client now, or could not. */
enum listening_step listening_next(const struct listening *listening, bool may_accept);

/* Notes that a step was taken. `result`: of ADD whether all listeners are in the set, of LOOK whether a
 * client waits. */
void listening_done(struct listening *listening, enum listening_step step, bool result);

#endif
