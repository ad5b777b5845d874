/*
 * One request and its results on a connection to a MariaDB server.
 *
 * DESIGN. The server speaks first: a connection is GREETING until it has admitted the client, and that time
 * counts for the session's first request. A request is a row of statements, an interaction of a customer with
 * a shop: each statement is sent when all results of the one before have come, as a program does that works
 * through them. An error of the server ends the request, and the session goes on with the next one.
 */
#ifndef TRIMTAB_LOADGEN_SQL_EXCHANGE_H
#define TRIMTAB_LOADGEN_SQL_EXCHANGE_H

#include "loadgen/connections.h"

#include <stdbool.h>

/* Receives once, and goes on with the session as far as that allows. Returns what exchange_read does. */
bool sql_read(struct connections *all, struct connection *connection, bool until_empty);

#endif
