/*
 * Hands connections from process to process over a Unix socket (SCM_RIGHTS, unix(7)): the descriptor, and
 * what has been received but not served yet.
 */
#ifndef TRIMTAB_HTTPD_ARCH_HANDOVER_H
#define TRIMTAB_HTTPD_ARCH_HANDOVER_H

#include <stdbool.h>
#include <stddef.h>

struct connection;
struct worker;

/* To one receiver, from any number of senders. Nothing here blocks. */
struct handover {
    int pair[2]; /* connected sockets, [0] to send and [1] to receive */
    int ends;    /* eventfd: who sends no more; an end needs no room in the channel, which may be full */
};

/* Returns 0, or -1. */
int handover_open(struct handover *handover);

/* Does nothing with a zeroed one. */
void handover_close(const struct handover *handover);

/* Sends a connection with `length` bytes of unserved input; the caller closes its own descriptor. Returns
 * false when the receiver's queue is full or it cannot be done; then nothing has happened. */
bool handover_send(const struct handover *handover, int fd, bool blocking, const char *input, size_t length);

/* Says that the caller sends no more connections into the channel. The receiver counts on it before it ends.
 */
void handover_end(const struct handover *handover);

/* Asks the receiver to close an idle connection, if it has one, to make room for another (recycle.h). */
void handover_ask_for_place(const struct handover *handover);

/* Has this process, in whose event loop the worker is, receive from `count` others. What is taken over is
 * told to `adopted`, if that is not NULL, before its input is served. */
void handover_expect(struct worker *worker, const struct handover *handover, unsigned count,
                     void (*adopted)(struct connection *connection));

/* For a driver (driver.h): says whether some of them have not said yet that they send no more, or what they
 * have sent waits. */
bool handover_expects_more(const struct worker *worker);

#endif
