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

#include "loadgen/connection.h"

#include <stdbool.h>

/* Makes the packet with which every client answers the greeting: a user without a password, and the database
 * to use. Returns false when the names are missing or too long. */
bool sql_make_login(struct sql_login *login, const char *user, const char *database);

/* Receives once, and goes on with the session as far as that allows. Returns what exchange_read does. */
bool sql_read(struct connections *all, struct connection *connection, bool until_empty);

/* Has the next statement of the present request be the one to send: the first one after 0 bytes of it. */
void sql_next_statement(const struct connections *all, struct connection *connection);

/* Tells the server that the client has had all it wants. */
void sql_quit(const struct connection *connection);

#endif
