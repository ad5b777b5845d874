/*
 * Replies: what is said to a request, and getting it out.
 *
 * A reply is a head, and a file or nothing behind it. The usual head lies finished in the cache; others are
 * put together on the stack. Either is given to the socket at once, and only what the socket does not take is
 * copied to the connection.
 */
#ifndef TRIMTAB_HTTPD_REPLY_H
#define TRIMTAB_HTTPD_REPLY_H

#include "httpd/connection.h"
#include "httpd/http/request.h"
#include "httpd/io/sendfile.h"

/* What one connection sends at most before others have their turn (turns.h), where its socket does not block.
 * The largest files of the SPECweb99 mix leave in one pass. But once replies of CROWD_BYTES in all have begun
 * in one turn of the loop, further ones begin with a short pass, so that a crowd with large requests is soon
 * through. */
#define PASS_BYTES       (1 << 20)
#define SHORT_PASS_BYTES (128 << 10)
#define CROWD_BYTES      (16 << 20)

/* Returns how much of a reply may be sent before it is others' turn. */
off_t reply_pass_bytes(const struct connection *connection);

/* Begins the reply to a complete request whose head begins at `data`, and sends what can be sent. Leaves the
 * connection READING (the reply is out), SENDING (the socket is full, or somebody else sends), LINGERING or
 * CLOSED. */
void reply_begin(struct worker *worker, struct connection *connection, const struct request *request,
                 const char *data);

/* Begins to send a reply: `head`, then the ranges of connection->file that have been set. With the same
 * outcomes; for reply_begin(), which has decided what to say (answer.c). */
void reply_start(struct worker *worker, struct connection *connection, enum http_status status,
                 const char *head, size_t length);

/* Sends on a connection that is SENDING, with the same outcomes. */
void reply_continue(struct worker *worker, struct connection *connection);

/*
 * The two halves of reply_continue(), for drivers that send in another place or way (driver.h).
 * reply_send() makes one pass: it sends until the reply is out, the socket is full or it is others' turn.
 * With `checked` it sends the file up to *checked only, and returns SEND_HELD there; when another range
 * begins *checked is set to its beginning. It touches nothing but the reply of this connection and
 * `counters`; reply_settle() draws the conclusion, with the outcomes of reply_begin(), in the thread whose
 * worker the connection belongs to.
 */
enum send_outcome reply_send(struct connection *connection, off_t *checked, struct counters *counters);
void reply_settle(struct worker *worker, struct connection *connection, enum send_outcome outcome);

/*
 * For who sends by other means than reply_send(): what is to be sent is the head from head_sent on, and then
 * the file from offset to end. Notes that `sent` bytes of that are out. Returns SEND_COMPLETE when the reply
 * is out, SEND_BLOCKED when there is more to be sent (perhaps another part), SEND_FAILED when there is no
 * memory.
 */
enum send_outcome reply_advance(struct connection *connection, size_t sent, struct counters *counters);

/* Makes a copy of the head, as far as it has not been sent, for the first bytes are of a buffer that others
 * use too. Whoever sends later needs one. Returns false when there is no memory. */
bool reply_own_head(struct connection *connection);

/* For a driver that leaves all sending to somebody else. */
enum send_outcome reply_leave_to_others(struct worker *worker, struct connection *connection);

/* Tells the peer that its request took too long (RFC 9110 §15.5.9), without waiting for anything. */
void reply_timeout(struct worker *worker, struct connection *connection);

/* Releases what the reply under way holds. */
void reply_drop(struct connection *connection);

#endif
