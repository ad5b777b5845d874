/*
 * See sql_exchange.h.
 */
#include "sql_exchange.h"

#include "exchange.h"

#include <errno.h>
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

/* Answers the greeting. Returns false when the session has ended. */
static bool log_in(struct connections *all, struct connection *c)
{
    /* The first packet on a connection always finds room. */
    if (send(c->descriptor, all->login.packet, all->login.length, MSG_NOSIGNAL) == all->login.length)
        return true;
    connection_fail_with_errno(all, c, errno);
    return false;
}

/* The number by which an error of the server is counted; 0 when there was none. */
static unsigned status_of(const struct sql_reply *reply)
{
    return reply->error > STATUS_MAX ? STATUS_MAX : reply->error;
}

/* Counts the present request, all of whose results, or an error, have come. */
static void account_for_results(struct connections *all, struct connection *c)
{
    const struct request_kind *kind = connection_kind(all, c->request);
    const struct sql_reply *reply = &c->results;
    uint64_t size = kind->size == SIZE_UNKNOWN ? reply->row_bytes : kind->size;
    unsigned status = status_of(reply);

    all->account->replies_by_status[status]++;
    if (status != 0)
        account_failure(all->account, FAILURE_STATUS, status, connection_planned_size(all, c->request));
    else if (reply->row_bytes != size)
        account_failure(all->account, FAILURE_WRONG_LENGTH, 0, size);
    else if (kind->rows != ROWS_UNKNOWN && kind->rows != reply->rows)
        account_failure(all->account, FAILURE_WRONG_CONTENT, 0, size);
    else {
        account_reply(all->account, c->intended_ns, all->received_ns, reply->bytes, size);
        return;
    }
    c->failed = true;
}

/* A request, or the admission, has come to its end. Returns whether the session goes on. */
static bool take_event(struct connections *all, struct connection *c, enum sql_event event)
{
    switch (event) {
    case SQL_NOTHING:
        return true;
    case SQL_GREETED:
        return log_in(all, c);
    case SQL_ADMITTED:
        return exchange_ask(all, c, c->intended_ns);
    case SQL_MALFORMED:
        connection_fail(all, c, FAILURE_MALFORMED_HEAD, 0);
        return false;
    case SQL_REFUSED:
        if (c->state == GREETING) {
            connection_fail(all, c, FAILURE_STATUS, status_of(&c->results));
            return false;
        }
        break;
    case SQL_DONE:
        if (c->sent < connection_kind(all, c->request)->text_length) {
            sql_next_statement(all, c);
            return exchange_send(all, c);
        }
        break;
    }
    account_for_results(all, c);
    return exchange_go_on(all, c);
}

bool sql_read(struct connections *all, struct connection *c, bool until_empty)
{
    enum sql_event event;
    ssize_t got = exchange_receive(all, c, all->received, RECEIVE_BYTES);

    if (got <= 0)
        return false;
    if (c->state == ASKING && !c->reply_begun) {
        c->reply_begun = true;
        account_first_byte(all->account, c->intended_ns, all->received_ns);
    }
    for (size_t taken = 0; taken < (size_t)got;) {
        taken += sql_reply_take(&c->results, all->received + taken, (size_t)got - taken, &event);
        if (event != SQL_NOTHING && taken < (size_t)got) {
            connection_fail(all, c, FAILURE_UNEXPECTED_DATA, 0); /* nothing more has been asked for */
            return false;
        }
        if (!take_event(all, c, event))
            return false;
    }
    return !exchange_drained(all, c, got == RECEIVE_BYTES, until_empty);
}
