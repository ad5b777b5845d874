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

/* Makes a pair of connected sockets, [0] to send and [1] to receive; neither blocks. Returns 0, or -1. */
int handover_open(int pair[2]);

/* Closes a pair that was made, and does nothing with a zeroed one. */
void handover_close(const int pair[2]);

/* Sends a connection with `length` bytes of unserved input; the caller closes its own descriptor. Returns
 * false when the receiver's queue is full or it cannot be done; then nothing has happened. */
bool handover_send(int channel, int fd, bool blocking, const char *input, size_t length);

/* Says that the caller sends no more connections into the channel. The receiver counts on it before it ends;
 * if it holds up the channel at that time it does not hear of it, and is ended by the master. */
void handover_end(int channel);

/* Asks the receiver to close an idle connection, if it has one, to make room for another (recycle.h). */
void handover_ask_for_place(int channel);

/* Notes how many others send connections to this process. */
void handover_expect(unsigned count);

/* For a driver (driver.h): says whether some of them have not said yet that they send no more. */
bool handover_expects_more(const struct worker *worker);

/* Takes all connections that wait in the channel over into the worker and serves their input. `adopted`, if
 * it is not NULL, is called with each before that. */
void handover_receive(struct worker *worker, int channel, void (*adopted)(struct connection *connection));

#endif
