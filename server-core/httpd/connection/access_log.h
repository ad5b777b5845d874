/*
 * The access log, in the combined format of Apache's httpd, which all tools for logs read.
 *
 * DESIGN. Whoever serves must not wait for a disk. A worker puts the finished line into a ring of its own in
 * shared memory; the master, which serves nobody, writes what the rings hold some twenty times a second, and
 * at once when one is half full (access_log_wake_fd()). When a ring is full because the disk, or who reads a
 * pipe in its place, does not keep up, or the disk takes no more, lines are dropped and counted
 * (access_log_dropped), and nobody waits. A worker that dies loses no line that was complete.
 *
 * A line is begun (access_log_line.c) when its reply begins, because what the client sent is there then.
 * Until the reply has come to its end it waits in memory of the connection, which keeps the text of the
 * peer's address for the lines that follow.
 */
#ifndef TRIMTAB_HTTPD_CONNECTION_ACCESS_LOG_H
#define TRIMTAB_HTTPD_CONNECTION_ACCESS_LOG_H

#include "httpd/http/reply.h"
#include "httpd/http/request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define ACCESS_LOG_INTERVAL_MS 50 /* between two collections */

struct counters;
struct log_entry;
struct log_ring;
struct log_rings;
struct scoreboard;

/* --- in the master --- */

/* Opens the file for appending, in the place of an earlier one. Logs what is wrong and returns false; then
 * the earlier one stays. */
bool access_log_open(const char *path);

bool access_log_is_open(void);

/* Makes a ring for each of `rows` rows of counters, which also count the lines that cannot be written.
 * Returns NULL with the reason logged on failure. */
struct log_rings *access_log_add_rings(unsigned rows, struct scoreboard *scoreboard);

/* Writes what they hold, and frees them; nobody writes to them any more. With the last ones the file is
 * closed. NULL: nothing happens. */
void access_log_remove_rings(struct log_rings *rings);

/* Returns what becomes readable when a ring wants to be collected; -1: nothing. */
int access_log_wake_fd(void);

/* Writes what the rings hold. */
void access_log_collect(void);

/* Opens the file anew, which somebody has moved away. */
void access_log_reopen(void);

/* Lets go of the file in a child that has descriptors of its own: who serves has no right to write it, and
 * would keep the space of one that has been rotated away. */
void access_log_close_in_child(void);

/* Counts lines that were dropped. The only counter that the master writes too, so this is the only way. */
void access_log_count_dropped(struct counters *counters, uint64_t count);

/* --- in a worker --- */

/* Returns the ring of a row of counters; NULL when `rings` is, for there is no access log. */
struct log_ring *access_log_ring(struct log_rings *rings, unsigned row);

/* Appends a line that consists of `count` parts. Returns false, and appends nothing, when the ring is full.
 */
struct log_part {
    const char *bytes;
    size_t length;
};
bool access_log_append(struct log_ring *ring, const struct log_part *parts, size_t count);

/* Notes what is known of a request (whose head begins at `data`; NULL: it never came) when its reply begins:
 * all but the outcome. *entry is of the connection of `socket`, NULL before its first line; it is to be freed
 * when that ends. Returns false when there is no memory. */
bool access_log_begin(struct log_entry **entry, int socket, const struct request *request, const char *data,
                      time_t now);

/* Hands the line over, with the status and what has been sent, when the reply has come to its end, complete
 * or not. Returns false, and the line is lost, when the ring is full. */
bool access_log_end(struct log_ring *ring, struct log_entry *entry, const struct reply *reply);

#endif
