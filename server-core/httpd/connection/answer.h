/*
 * From a request to its reply: looks the file up that it asks for, and has what there is to say sent.
 */
#ifndef TRIMTAB_HTTPD_CONNECTION_ANSWER_H
#define TRIMTAB_HTTPD_CONNECTION_ANSWER_H

#include "httpd/connection/connection.h"

/* Says whether answering a complete request (whose head begins at `data`) would have to wait for a disk, and
 * for which name (file_cache_would_wait()). If not, it is to be answered at once: its file may be found
 * already. */
bool answer_would_wait(struct worker *worker, struct connection *connection, const struct request *request,
                       const char *data, uint8_t *asked, char wanted[FILE_CACHE_PATH_MAX]);

/* Answers the complete request that the feed begins with, and sends what can be sent, with the outcomes of
 * sending_begin(). */
void answer_request(struct worker *worker, struct connection *connection, const struct feed *feed);

/* Tells the peer that its complete request, the first one in the feed, is not served now (RFC 9110 §15.6.4),
 * without waiting for anything, and ends the connection. */
void answer_refused(struct worker *worker, struct connection *connection, const struct feed *feed);

/* Tells the peer that its request took too long (RFC 9110 §15.5.9), without waiting for anything. */
void answer_timeout(struct worker *worker, struct connection *connection);

#endif
