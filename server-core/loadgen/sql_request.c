/*
 * See sql_request.h.
 */
#include "sql_request.h"

#include <string.h>

/* What the client can do (the protocol's capability flags). Rows that an UPDATE finds count, also where they
 * have the new value already: so their number does not depend on what other customers do. */
enum {
    LONG_PASSWORD = 1 << 0,
    FOUND_ROWS = 1 << 1,
    CONNECT_WITH_DATABASE = 1 << 3,
    PROTOCOL_41 = 1 << 9,
    TRANSACTIONS = 1 << 13,
    SECURE_CONNECTION = 1 << 15,
    PLUGIN_AUTHENTICATION = 1 << 19,
    NO_END_PACKETS = 1 << 24,
    CAPABILITIES = LONG_PASSWORD | FOUND_ROWS | CONNECT_WITH_DATABASE | PROTOCOL_41 | TRANSACTIONS |
        SECURE_CONNECTION | PLUGIN_AUTHENTICATION | NO_END_PACKETS,
};

#define LARGEST_PACKET (1U << 24)
#define UTF8MB4        45
#define RESERVED_BYTES 23

static const char plugin[] = "mysql_native_password";
static const char quit[] = {1, 0, 0, 0, 1};

static char *put_number(char *place, uint32_t number, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        *place++ = (char)(number >> (8 * i) & 0xff);
    return place;
}

bool sql_make_login(struct sql_login *login, const char *user, const char *database)
{
    const size_t user_bytes = strlen(user) + 1, database_bytes = strlen(database) + 1;
    char *place = login->packet;

    if (user_bytes == 1 || user_bytes > SQL_NAME_BYTES || database_bytes == 1 ||
        database_bytes > SQL_NAME_BYTES)
        return false;
    login->length =
        (uint32_t)(SQL_HEADER_BYTES + 4 + 4 + 1 + RESERVED_BYTES + user_bytes + 1 + database_bytes) +
        (uint32_t)sizeof(plugin);
    place = put_number(place, login->length - SQL_HEADER_BYTES, 3);
    *place++ = 1; /* the second packet of the conversation */
    place = put_number(place, CAPABILITIES, 4);
    place = put_number(place, LARGEST_PACKET, 4);
    *place++ = UTF8MB4;
    memset(place, 0, RESERVED_BYTES);
    place += RESERVED_BYTES;
    memcpy(place, user, user_bytes);
    place += user_bytes;
    *place++ = 0; /* the proof of a password has no bytes */
    memcpy(place, database, database_bytes);
    place += database_bytes;
    memcpy(place, plugin, sizeof(plugin));
    return true;
}

void sql_next_statement(const struct connections *all, struct connection *c)
{
    const char *header = connection_kind(all, c->request)->text + c->sent;

    c->statement_end = c->sent + SQL_HEADER_BYTES +
                       ((uint32_t)(unsigned char)header[0] | (uint32_t)(unsigned char)header[1] << 8 |
                        (uint32_t)(unsigned char)header[2] << 16);
}

void sql_quit(const struct connection *c)
{
    /* One that does not get through is as good as none: the connection ends next. */
    (void)!send(c->descriptor, quit, sizeof(quit), MSG_NOSIGNAL);
}
