/*
 * See sql_exchange.h.
 */
#include "sql_exchange.h"

#include "connection.h"
#include "exchange.h"
#include "sql_request.h"

#include <errno.h>

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
