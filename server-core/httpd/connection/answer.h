/*
 * From a request to its reply: looks the file up that it asks for, and has what there is to say sent.
 */
#ifndef TRIMTAB_HTTPD_CONNECTION_ANSWER_H
#define TRIMTAB_HTTPD_CONNECTION_ANSWER_H

#include "httpd/connection/connection.h"

/* Answers the complete request that the feed begins with, and sends what can be sent, with the outcomes of
 * sending_begin(). */
void answer_request(struct worker *worker, struct connection *connection, const struct feed *feed);

/* Tells the peer that its request took too long (RFC 9110 §15.5.9), without waiting for anything. */
void answer_timeout(struct worker *worker, struct connection *connection);

#endif
