/*
 * See turns.h.
 */
#include "httpd/connection/turns.h"

#include "httpd/connection/connection.h"

void turns_append(struct turns *turns, struct connection *connection)
{
    if (connection->has_turn)
        return;
    connection->has_turn = true;
    connection->turn_before = turns->last;
    connection->turn_after = NULL;
    *(turns->last ? &turns->last->turn_after : &turns->first) = connection;
    turns->last = connection;
}

void turns_remove(struct turns *turns, struct connection *connection)
{
    if (!connection->has_turn)
        return;
    connection->has_turn = false;
    *(connection->turn_before ? &connection->turn_before->turn_after : &turns->first) =
        connection->turn_after;
    *(connection->turn_after ? &connection->turn_after->turn_before : &turns->last) = connection->turn_before;
}

struct connection *turns_take(struct turns *turns)
{
    struct connection *connection = turns->first;

    if (connection)
        turns_remove(turns, connection);
    return connection;
}
