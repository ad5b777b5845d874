/*
 * The access log, in the combined format of Apache's httpd, which all tools for logs read.
 *
 * DESIGN. Whoever serves must not wait for a disk. A worker puts the finished line into a ring of its own in
 * shared memory; the master, which serves nobody, collects the lines some twenty times a second and writes
 * them. When a ring is full because the disk does not keep up, lines are dropped and counted
 * (access_log_dropped), and nobody waits. A worker that dies loses no line that was complete.
 */
#ifndef TRIMTAB_HTTPD_ACCESS_LOG_H
#define TRIMTAB_HTTPD_ACCESS_LOG_H

#include "httpd/http/request.h"

#include <stdbool.h>
#include <stdint.h>

#define ACCESS_LOG_INTERVAL_MS 50 /* between two collections */

struct connection;
struct log_ring;
struct worker;

/* --- in the master --- */

/* Opens the file for appending and makes `rows` rings. Logs what is wrong and returns false. */
bool access_log_open(const char *path, unsigned rows);

bool access_log_is_open(void);

/* Writes what the rings hold. */
void access_log_collect(void);

/* Opens the file anew, which somebody has moved away. */
void access_log_reopen(void);

void access_log_close(void);

/* --- in a worker --- */

/* Returns the ring of a row of counters; NULL when there is no access log. */
struct log_ring *access_log_ring(unsigned row);

/* Notes what is known of a request (whose head begins at `data`; NULL: it never came) when its reply begins:
 * all but the outcome. `body_bytes` are to be sent. Does nothing without a log. */
void access_log_begin(struct worker *worker, struct connection *connection, const struct request *request,
                      const char *data, uint64_t body_bytes);

/* Hands the line over, with the status and what has been sent, when the reply has come to its end, complete
 * or not. */
void access_log_end(struct worker *worker, struct connection *connection);

#endif
