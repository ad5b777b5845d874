/*
 * What is said to a MariaDB server: the login, a request's statements one by one, and the leave.
 */
#ifndef TRIMTAB_LOADGEN_SQL_REQUEST_H
#define TRIMTAB_LOADGEN_SQL_REQUEST_H

#include "loadgen/connections.h"

#include <stdbool.h>

/* Makes the packet with which every client answers the greeting: a user without a password, and the database
 * to use. Returns false when the names are missing or too long. */
bool sql_make_login(struct sql_login *login, const char *user, const char *database);

/* Has the next statement of the present request be the one to send: the first one after 0 bytes of it. */
void sql_next_statement(const struct connections *all, struct connection *connection);

/* Tells the server that the client has had all it wants. */
void sql_quit(const struct connection *connection);

#endif
