/*
 * See exchange.h.
 */
#include "exchange.h"

#include "asked.h"
#include "common/clock.h"
#include "connection.h"
#include "memory.h"
#include "reply_body.h"
#include "sql_request.h"
#include "transport.h"

#include <errno.h>
#include <string.h>

/* Room for a head, when the kernel is to discard the body: it need not copy the beginning of that either. */
#define HEAD_BYTES 1024

/* A slow session reads twenty times a second what is due by then. */
#define SLOW_READS_PER_S 20

static struct reply_text request_text(const struct connections *all, const struct connection *c)
{
    const struct request_kind *kind = connection_kind(all, c->request);

    if (connections_of_statements(all))
        return (struct reply_text){kind->text, c->statement_end};
    if (c->asked.conditional)
        return (struct reply_text){kind->conditional_text, kind->conditional_length};
    return (struct reply_text){kind->text, kind->text_length};
}

bool exchange_sent(const struct connections *all, const struct connection *c)
{
    return c->sent == request_text(all, c).length;
}

bool exchange_send(struct connections *all, struct connection *c)
{
    struct reply_text text = request_text(all, c);
    ssize_t sent = all->transport->send(all, c, text.start + c->sent, text.length - c->sent);

    if (sent < 0 && errno != EAGAIN) {
        connection_fail_with_errno(all, c, errno);
        return false;
    }
    c->sent += sent < 0 ? 0 : (uint32_t)sent;
    if (c->sent < text.length)
        connection_watch_sending(all, c);
    return true;
}

bool exchange_ask(struct connections *all, struct connection *c, uint64_t intended_ns)
{
    c->intended_ns = intended_ns;
    if (c->to_reopen)
        return connection_reopen(all, c);
    c->asked = asked_draw(all, c->request);
    c->state = ASKING;
    c->sent = 0;
    c->reply_begun = false;
    if (connections_of_statements(all)) {
        sql_next_statement(all, c);
        sql_reply_forget(&c->results);
    }
    return exchange_send(all, c);
}

bool exchange_go_on(struct connections *all, struct connection *c)
{
    uint64_t now_ns = all->received_ns;
    uint32_t answered = c->request++;

    if (!connection_next_request(all, c)) {
        if (connections_of_statements(all))
            sql_quit(c);
        connection_end(all, c, c->failed ? SESSION_FAILED : SESSION_COMPLETED);
        return false;
    }
    if (all->closed_loop)
        connection_start_timeout(all, c, now_ns);
    uint64_t think_ns = asked_pause_ns(all, answered);
    if (think_ns == 0)
        return exchange_ask(all, c, now_ns) && c->state != CONNECTING;
    c->state = THINKING;
    alarm_heap_add(&all->thinkers, &c->think, now_ns + think_ns);
    return true;
}

/* A whole reply has been read. Returns what exchange_go_on does. */
static bool finish_reply(struct connections *all, struct connection *c)
{
    if (!asked_account(all, &c->asked, c->request, c->intended_ns, &c->head))
        c->failed = true;
    /* Answered before it was sent completely, a request leaves its rest in the way of the next one. */
    c->to_reopen = c->head.connection_close || all->close_each || !exchange_sent(all, c);
    return exchange_go_on(all, c);
}

ssize_t exchange_receive(struct connections *all, struct connection *c, void *buffer, size_t size)
{
    ssize_t got = all->transport->receive(all, c, buffer, size);

    if (got > 0) {
        all->received_ns = clock_now_ns();
        all->account->bytes_received += (uint64_t)got;
        /* Over HTTP/2 a server sends its settings before it has read anything; http2_frames.c sees replies.
         */
        c->heard = c->heard || all->http2 == NULL;
        return got;
    }
    if (got < 0 && errno == EAGAIN)
        return 0;
    if (got == 0 && c->state == READING_BODY && reply_body_close(all, c)) {
        all->received_ns = clock_now_ns();
        finish_reply(all, c);
    } else {
        connection_fail_to_receive(all, c, got);
    }
    return -1;
}

bool exchange_drained(const struct connections *all, const struct connection *c, bool filled,
                      bool until_empty)
{
    return !until_empty && all->transport->drained(c, filled);
}

/* Returns how much may be read at once. */
static size_t read_limit(const struct connections *all, const struct connection *c, size_t room)
{
    size_t share = (size_t)(all->slow_pace / SLOW_READS_PER_S);

    if (!c->slow)
        return room;
    share = share == 0 ? 1 : share;
    return share < room ? share : room;
}

/* More of the reply is to come after the `got` bytes that have been read. Returns whether to read on now; a
 * slow session pauses as long as these bytes take at its pace. */
static bool read_on(struct connections *all, struct connection *c, size_t got, bool drained)
{
    if (!c->slow)
        return !drained;
    c->paced = true;
    alarm_heap_add(&all->thinkers, &c->think,
                   all->received_ns + clock_seconds_to_ns((double)got / all->slow_pace));
    return false;
}

/* Keeps the beginning of a head until the rest comes. */
static void keep_partial_head(struct connection *c, const char *data, size_t length)
{
    if (c->partial_head == NULL)
        c->partial_head = memory_needed(malloc(REPLY_HEAD_MAX));
    memcpy(c->partial_head, data, length);
    c->partial_bytes = (uint32_t)length;
}

static void forget_partial_head(struct connection *c)
{
    free(c->partial_head);
    c->partial_head = NULL;
    c->partial_bytes = 0;
}

/* Says whether the `length` bytes of a head that have come, of which reply_parse_head thinks `parse`, are
 * refused, and why. */
static bool head_refused(enum reply_parse parse, size_t length, enum failure *reason)
{
    switch (parse) {
    case REPLY_MALFORMED:
        *reason = FAILURE_MALFORMED_HEAD;
        return true;
    case REPLY_TRANSFER_ENCODING:
        *reason = FAILURE_TRANSFER_ENCODING;
        return true;
    default:
        *reason = FAILURE_HEAD_TOO_LONG;
        return length > REPLY_HEAD_MAX;
    }
}

/* The functions below return what exchange_read does. */

/* Takes the next `length` bytes of the body, with which a read of `got` bytes ended. */
static bool take_body(struct connections *all, struct connection *c, const char *data, size_t length,
                      size_t got, bool drained)
{
    switch (reply_body_take(all, c, data, length)) {
    case REPLY_BODY_GOES_ON:
        c->state = READING_BODY;
        return read_on(all, c, got, drained);
    case REPLY_BODY_COMPLETE:
        return finish_reply(all, c) && !drained;
    case REPLY_BODY_EXCEEDED:
        connection_fail(all, c, FAILURE_UNEXPECTED_DATA, 0);
        break;
    case REPLY_BODY_BROKEN:
        connection_fail(all, c, FAILURE_MALFORMED_CHUNK, 0);
        break;
    }
    return false;
}

/* Looks at the head that begins with the `length` bytes at *data. Heads which only announce another one (RFC
 * 9110 §15.2) are passed over; that of a change of the protocol is none of these. */
static enum reply_parse parse_head(const char **data, size_t *length, bool to_head, struct reply_head *head)
{
    enum reply_parse parse = reply_parse_head(*data, *length, to_head, head);

    while (parse == REPLY_PARSED && head->status < 200 && head->status != 101) {
        *data += head->head_bytes;
        *length -= head->head_bytes;
        parse = reply_parse_head(*data, *length, to_head, head);
    }
    return parse;
}

static bool read_head(struct connections *all, struct connection *c, bool until_empty)
{
    const struct request_kind *kind = connection_kind(all, c->request);
    bool long_body = kind->size != SIZE_UNKNOWN && kind->size > RECEIVE_BYTES && !c->asked.verifying;
    size_t room = read_limit(all, c, long_body ? HEAD_BYTES : RECEIVE_BYTES - c->partial_bytes);
    if (c->partial_bytes > 0)
        memcpy(all->received, c->partial_head, c->partial_bytes);
    ssize_t got = exchange_receive(all, c, all->received + c->partial_bytes, room);
    if (got <= 0)
        return false;
    if (!c->reply_begun) {
        c->reply_begun = true;
        account_first_byte(all->account, c->intended_ns, all->received_ns);
    }

    const char *data = all->received;
    size_t length = c->partial_bytes + (size_t)got;
    enum reply_parse parse = parse_head(&data, &length, kind->method == METHOD_HEAD, &c->head);
    enum failure reason;
    bool drained = exchange_drained(all, c, (size_t)got == room, until_empty);
    if (head_refused(parse, parse == REPLY_INCOMPLETE ? length : c->head.head_bytes, &reason)) {
        connection_fail(all, c, reason, 0);
        return false;
    }
    if (parse == REPLY_INCOMPLETE) {
        keep_partial_head(c, data, length);
        return read_on(all, c, (size_t)got, drained);
    }
    forget_partial_head(c);
    asked_learn(all, c->request, &c->head);

    reply_body_begin(c);
    return take_body(all, c, data + c->head.head_bytes, length - c->head.head_bytes, (size_t)got, drained);
}

static bool read_body(struct connections *all, struct connection *c, bool until_empty)
{
    size_t wanted = read_limit(all, c, reply_body_wanted(c));
    ssize_t got = exchange_receive(all, c, reply_body_looked_at(c) ? all->received : NULL, wanted);

    if (got <= 0)
        return false;
    bool drained = exchange_drained(all, c, (size_t)got == wanted, until_empty);
    return take_body(all, c, all->received, (size_t)got, (size_t)got, drained);
}

/* Nothing is expected while the client thinks, but the server may close the connection; it will, after having
 * announced that. */
static bool read_while_thinking(struct connections *all, struct connection *c)
{
    if (!c->to_reopen && exchange_receive(all, c, all->received, RECEIVE_BYTES) > 0)
        connection_fail(all, c, FAILURE_UNEXPECTED_DATA, 0);
    return false;
}

bool exchange_read(struct connections *all, struct connection *c, bool until_empty)
{
    switch (c->state) {
    case ASKING:
        return read_head(all, c, until_empty);
    case READING_BODY:
        return read_body(all, c, until_empty);
    case THINKING:
        return read_while_thinking(all, c);
    case CONNECTING:
    case HANDSHAKING:
    case GREETING:
    case IDLE:
        break;
    }
    return false;
}
