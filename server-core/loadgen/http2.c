/*
 * See http2.h.
 */
#include "http2.h"

#include "asked.h"
#include "common/clock.h"
#include "connection.h"
#include "exchange.h"
#include "http2_frames.h"
#include "memory.h"
#include "transport.h"

#include <errno.h>
#include <string.h>

/* What a browser lets a server send before it asks for more: 6 MiB on a stream and 15 MiB on a connection, as
 * Chrome does. */
#define STREAM_WINDOW_BYTES     (6 << 20)
#define CONNECTION_WINDOW_BYTES (15 << 20)

/* So much is read of one connection before it is answered, and others have their turn. */
#define READ_MAX (4 * HTTP2_INPUT_BYTES)

struct http2 *http2_new(bool over_tls, const char *authority, unsigned streams)
{
    struct http2 *http2 = memory_needed(malloc(sizeof(*http2)));

    http2->scheme = over_tls ? "https" : "http";
    http2->authority = authority;
    http2->streams = streams;
    http2->free = NULL;
    http2_frames_init(http2);
    return http2;
}

void http2_free(struct http2 *http2)
{
    if (http2 == NULL)
        return;
    for (struct http2_stream *stream; (stream = http2->free) != NULL;) {
        http2->free = stream->next;
        free(stream);
    }
    nghttp2_option_del(http2->options);
    nghttp2_session_callbacks_del(http2->callbacks);
    free(http2);
}

bool http2_sent(const struct connection *c)
{
    return c->http2 == NULL || c->http2->unsent == NULL;
}

/* Keeps what the socket does not take now, behind what it has not taken before. */
static void keep_unsent(struct http2_connection *m, const char *data, size_t length)
{
    size_t old = m->unsent_bytes - m->unsent_begin;
    char *unsent = memory_needed(malloc(old + length));

    if (old > 0)
        memcpy(unsent, m->unsent + m->unsent_begin, old);
    memcpy(unsent + old, data, length);
    free(m->unsent);
    m->unsent = unsent;
    m->unsent_begin = 0;
    m->unsent_bytes = old + length;
}

/* Sends what it can of the data. Returns how much that is, -1 when the session has ended. */
static ssize_t send_now(struct connections *all, struct connection *c, const char *data, size_t length)
{
    ssize_t sent = all->transport->send(all, c, data, length);

    if (sent >= 0 || errno == EAGAIN)
        return sent < 0 ? 0 : sent;
    connection_fail_with_errno(all, c, errno);
    return -1;
}

/* Sends the data, or keeps them. Returns false when the session has ended. */
static bool send_or_keep(struct connections *all, struct connection *c, const char *data, size_t length)
{
    ssize_t sent = c->http2->unsent == NULL && length > 0 ? send_now(all, c, data, length) : 0;

    if (sent < 0)
        return false;
    if ((size_t)sent < length)
        keep_unsent(c->http2, data + sent, length - (size_t)sent);
    return true;
}

/* Sends what was kept. Returns false when the session has ended. */
static bool send_unsent(struct connections *all, struct connection *c)
{
    struct http2_connection *m = c->http2;

    if (m->unsent == NULL)
        return true;
    ssize_t sent = send_now(all, c, m->unsent + m->unsent_begin, m->unsent_bytes - m->unsent_begin);
    if (sent < 0)
        return false;
    m->unsent_begin += (size_t)sent;
    if (m->unsent_begin == m->unsent_bytes) {
        free(m->unsent);
        m->unsent = NULL;
        m->unsent_begin = m->unsent_bytes = 0;
    }
    return true;
}

bool http2_send(struct connections *all, struct connection *c)
{
    struct http2_connection *m = c->http2;
    struct http2 *http2 = all->http2;
    const uint8_t *frame;
    ssize_t length = 0;
    size_t gathered = 0;

    if (!send_unsent(all, c))
        return false;
    while (m->unsent == NULL && (length = nghttp2_session_mem_send(m->session, &frame)) > 0) {
        if (gathered + (size_t)length > sizeof(http2->output)) {
            if (!send_or_keep(all, c, http2->output, gathered))
                return false;
            gathered = 0;
        }
        if ((size_t)length > sizeof(http2->output)) {
            if (!send_or_keep(all, c, (const char *)frame, (size_t)length))
                return false;
            continue;
        }
        memcpy(http2->output + gathered, frame, (size_t)length);
        gathered += (size_t)length;
    }
    if (length < 0)
        memory_needed(NULL); /* the only error that is left */
    if (gathered > 0 && !send_or_keep(all, c, http2->output, gathered))
        return false;
    if (m->unsent != NULL)
        connection_watch_sending(all, c);
    return true;
}

/* Asks the next request, or one that is to be asked again. `freed_ns` is when a reply made room for it, 0
 * when there was room. */
static void ask(struct connections *all, struct connection *c, uint64_t freed_ns, uint64_t now_ns)
{
    struct http2_connection *m = c->http2;
    struct http2_stream *stream = m->again.first;

    if (stream != NULL) {
        struct http2_stream *once_more = http2_stream_new(all->http2);
        once_more->request = stream->request;
        once_more->intended_ns = stream->intended_ns;
        http2_stream_remove(&m->again, stream);
        http2_stream_free(all->http2, stream);
        stream = once_more;
    } else {
        stream = http2_stream_new(all->http2);
        stream->request = c->request++;
        stream->intended_ns = freed_ns > m->due_ns ? freed_ns : m->due_ns;
        m->due_ns = stream->intended_ns;
        if (c->request <= c->last_request && !http2_waits(all, c))
            m->due_ns += asked_pause_ns(all, stream->request);
    }
    stream->asked = asked_draw(all, stream->request);
    stream->asked_ns = now_ns;
    http2_stream_append(&m->under_way, stream);
    m->in_flight++;
    c->state = ASKING;
    if (m->in_flight > all->account->most_streams)
        all->account->most_streams = m->in_flight;
    http2_submit(m, stream);
}

enum next { NEXT_ASK, NEXT_WAIT, NEXT_REOPEN, NEXT_END };

/* Decides what comes next. In the closed loop it offers the request that is to be asked. */
static enum next decide(struct connections *all, struct connection *c, uint64_t now_ns)
{
    struct http2_connection *m = c->http2;
    bool again = m->again.first != NULL;

    if (m->in_flight >= (m->answered ? all->http2->streams : 1))
        return NEXT_WAIT;
    if (!again) {
        if (m->in_flight > 0 && http2_waits(all, c))
            return NEXT_WAIT;
        if (c->request >= c->offered_end && !connection_next_request(all, c))
            return m->in_flight > 0 ? NEXT_WAIT : NEXT_END;
        if (m->due_ns > now_ns) {
            if (c->think.place == 0)
                alarm_heap_add(&all->thinkers, &c->think, m->due_ns);
            c->state = m->in_flight > 0 ? ASKING : THINKING;
            return NEXT_WAIT;
        }
    }
    if (m->leaving)
        return m->in_flight > 0 ? NEXT_WAIT : NEXT_REOPEN;
    return NEXT_ASK;
}

/* Asks what may be asked now, and sends it. `freed_ns` is as above. Returns false when the session has ended,
 * or goes on over another connection. */
static bool go_on(struct connections *all, struct connection *c, uint64_t freed_ns, uint64_t now_ns)
{
    struct http2_connection *m = c->http2;
    enum next next;

    do {
        while ((next = decide(all, c, now_ns)) == NEXT_ASK)
            ask(all, c, freed_ns, now_ns);
        if (next == NEXT_END) {
            connection_end(all, c,
                           m->timed_out ? SESSION_TIMED_OUT
                           : c->failed  ? SESSION_FAILED
                                        : SESSION_COMPLETED);
            return false;
        }
        if (next == NEXT_REOPEN)
            return connection_reopen(all, c) && false;
        if (!http2_send(all, c))
            return false;
        /* Requests that libnghttp2 still held back when the server took leave come back with the sending. */
    } while (m->leaving && m->in_flight == 0 && m->again.first != NULL);
    return true;
}

bool http2_begin(struct connections *all, struct connection *c)
{
    static const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW_BYTES},
    };
    struct http2_connection *m = c->http2;

    if (m == NULL) {
        c->http2 = m = memory_needed(calloc(1, sizeof(*m)));
        m->due_ns = c->intended_ns;
    }
    m->all = all;
    m->connection = c;
    m->answered = m->leaving = false;
    m->error = 0;
    if (nghttp2_session_client_new2(&m->session, all->http2->callbacks, m, all->http2->options) != 0 ||
        nghttp2_submit_settings(m->session, NGHTTP2_FLAG_NONE, settings,
                                sizeof(settings) / sizeof(*settings)) != 0 ||
        nghttp2_session_set_local_window_size(m->session, NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW_BYTES) != 0)
        memory_needed(NULL);
    return go_on(all, c, 0, clock_now_ns());
}

bool http2_wake(struct connections *all, struct connection *c, uint64_t now_ns)
{
    /* On its way to another connection, it asks what is due when that is open. */
    return c->state < ASKING || go_on(all, c, 0, now_ns);
}

bool http2_read(struct connections *all, struct connection *c, bool until_empty)
{
    struct http2_connection *m = c->http2;
    bool full = m->in_flight >= (m->answered ? all->http2->streams : 1);

    /* That the server closes a connection which it has taken leave of is no news. */
    if (m->leaving && m->in_flight == 0)
        return false;
    size_t taken = 0;
    bool drained = false;
    /* With its last reply a session may be over, and the end of the stream no failure. */
    while (!drained && taken < READ_MAX && (taken == 0 || m->in_flight > 0)) {
        ssize_t got = exchange_receive(all, c, all->http2->input, sizeof(all->http2->input));
        if (got < 0)
            return false;
        drained = got == 0;
        if (drained)
            break;
        if (nghttp2_session_mem_recv(m->session, (const uint8_t *)all->http2->input, (size_t)got) < 0) {
            connection_fail(all, c, FAILURE_HTTP2_PROTOCOL, 0);
            return false;
        }
        taken += (size_t)got;
        drained = all->transport->drained(c, (size_t)got == sizeof(all->http2->input));
    }
    if (taken == 0)
        return false;
    if (m->error != 0) {
        connection_fail(all, c, FAILURE_GOAWAY, m->error);
        return false;
    }
    if (!go_on(all, c, full ? all->received_ns : 0, all->received_ns))
        return false;
    /* libnghttp2 has found an error, and has told the server so. */
    if (!m->leaving && nghttp2_session_want_read(m->session) == 0) {
        connection_fail(all, c, FAILURE_HTTP2_PROTOCOL, 0);
        return false;
    }
    return !drained || until_empty;
}

/* The request that was asked first of those under way, NULL when there is none. */
static struct http2_stream *oldest(const struct http2_connection *m)
{
    struct http2_stream *stream = m->under_way.first;

    while (stream != NULL && stream->given_up)
        stream = stream->next;
    return stream;
}

uint64_t http2_due_ns(const struct connections *all, const struct connection *c, uint64_t otherwise_ns)
{
    const struct http2_stream *first = c->http2 == NULL ? NULL : oldest(c->http2);

    return first == NULL ? otherwise_ns : first->asked_ns + all->timeout_ns;
}

static enum outcome timed_out(const struct connection *c)
{
    return c->heard ? OUTCOME_TIMED_OUT_AFTER_READ : OUTCOME_TIMED_OUT_BEFORE_READ;
}

bool http2_give_up(struct connections *all, struct connection *c, uint64_t now_ns)
{
    struct http2_connection *m = c->http2;
    bool any = false;

    for (struct http2_stream *first;
         (first = oldest(m)) != NULL && first->asked_ns + all->timeout_ns <= now_ns;) {
        account_outcome(all->account, timed_out(c), connection_planned_size(all, first->request));
        first->given_up = true;
        m->in_flight--;
        m->timed_out = any = true;
        if (nghttp2_submit_rst_stream(m->session, NGHTTP2_FLAG_NONE, first->id, NGHTTP2_CANCEL) != 0)
            memory_needed(NULL);
    }
    return any;
}
