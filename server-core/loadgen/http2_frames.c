/*
 * See http2_frames.h. libnghttp2 checks frames and their order, but not what HTTP makes of them: that it
 * would do for servers that trust nobody. Here it takes no part in what a reply counts as.
 */
#include "http2_frames.h"

#include "asked.h"
#include "memory.h"
#include "transport.h"

#include <string.h>

/* Fields that every request has; the last one only at times. */
enum { FIELDS_MAX = 6 };

/* RFC 9113 §4.1. */
#define FRAME_HEAD_BYTES 9

bool http2_waits(const struct connections *all, const struct connection *c)
{
    const struct planned_request *next = &all->plan->requests[c->request];

    if (all->endless)
        return false;
    return c->request > c->last_request || !next->in_burst || c->request == 0 || !next[-1].in_burst;
}

struct http2_stream *http2_stream_new(struct http2 *http2)
{
    struct http2_stream *stream = http2->free;

    if (stream == NULL)
        stream = memory_needed(malloc(sizeof(*stream)));
    else
        http2->free = stream->next;
    *stream = (struct http2_stream){.head.content_length = REPLY_LENGTH_UNKNOWN};
    return stream;
}

void http2_stream_append(struct http2_streams *list, struct http2_stream *stream)
{
    stream->next = NULL;
    stream->previous = list->last;
    *(list->last == NULL ? &list->first : &list->last->next) = stream;
    list->last = stream;
}

void http2_stream_remove(struct http2_streams *list, struct http2_stream *stream)
{
    *(stream->previous == NULL ? &list->first : &stream->previous->next) = stream->next;
    *(stream->next == NULL ? &list->last : &stream->next->previous) = stream->previous;
}

static void forget_text(struct reply_text *text)
{
    free((char *)(uintptr_t)text->start);
    *text = (struct reply_text){0};
}

void http2_stream_free(struct http2 *http2, struct http2_stream *stream)
{
    forget_text(&stream->head.etag);
    forget_text(&stream->head.last_modified);
    stream->next = http2->free;
    http2->free = stream;
}

static bool named(const uint8_t *name, size_t length, const char *wanted)
{
    return length == strlen(wanted) && memcmp(name, wanted, length) == 0;
}

static void read_status(struct http2_stream *stream, const uint8_t *value, size_t length)
{
    unsigned status = 0;

    for (size_t i = 0; i < length && i < 3; i++)
        status = value[i] >= '0' && value[i] <= '9' ? 10 * status + (unsigned)(value[i] - '0') : 1000;
    if (length != 3 || status < 100 || status > 999 || stream->head.status != 0)
        stream->malformed = true;
    else
        stream->head.status = status;
}

static void read_content_length(struct http2_stream *stream, const uint8_t *value, size_t length)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < length; i++) {
        if (value[i] < '0' || value[i] > '9' || length > 18) {
            stream->malformed = true;
            return;
        }
        bytes = 10 * bytes + (uint64_t)(value[i] - '0');
    }
    if (length == 0 ||
        (stream->head.content_length != REPLY_LENGTH_UNKNOWN && stream->head.content_length != bytes))
        stream->malformed = true;
    else
        stream->head.content_length = bytes;
}

static void keep_text(struct reply_text *text, const uint8_t *value, size_t length)
{
    forget_text(text);
    *text = (struct reply_text){memory_needed(strndup((const char *)value, length)), length};
    text->length = strlen(text->start);
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    struct http2_connection *m = context;
    struct http2_stream *stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

    if (m == NULL || stream == NULL || stream->given_up || stream->begun)
        return 0;
    stream->begun = true;
    m->connection->heard = true;
    account_first_byte(m->all->account, stream->intended_ns, m->all->received_ns);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_length, const uint8_t *value, size_t value_length, uint8_t flags,
                     void *context)
{
    struct http2_connection *m = context;
    struct http2_stream *stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

    (void)flags;
    if (m == NULL || stream == NULL || stream->head_complete)
        return 0; /* fields behind the body say nothing that counts */
    if (named(name, name_length, ":status"))
        read_status(stream, value, value_length);
    else if (named(name, name_length, "content-length"))
        read_content_length(stream, value, value_length);
    else if (m->all->conditional_share > 0 && named(name, name_length, "etag"))
        keep_text(&stream->head.etag, value, value_length);
    else if (m->all->conditional_share > 0 && named(name, name_length, "last-modified"))
        keep_text(&stream->head.last_modified, value, value_length);
    return 0;
}

/* The head of a reply, or one that announces it, is complete. */
static void take_head(struct http2_connection *m, struct http2_stream *stream, const nghttp2_frame *frame)
{
    struct reply_head *head = &stream->head;

    head->head_bytes += FRAME_HEAD_BYTES + frame->hd.length;
    if (head->status == 0)
        stream->malformed = true;
    if (head->status >= 100 && head->status <= 199) { /* RFC 9110 §15.2: the final one follows */
        head->status = 0;
        head->content_length = REPLY_LENGTH_UNKNOWN;
        return;
    }
    stream->head_complete = true;
    asked_learn(m->all, stream->request, head);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    struct http2_connection *m = context;
    struct http2_stream *stream =
        frame->hd.stream_id == 0 ? NULL : nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

    if (m != NULL && frame->hd.type == NGHTTP2_GOAWAY) {
        m->all->account->goaways += !m->leaving;
        m->leaving = true;
        m->last_id = frame->goaway.last_stream_id;
        m->error = frame->goaway.error_code;
    }
    if (m == NULL || stream == NULL)
        return 0;
    if (frame->hd.type == NGHTTP2_RST_STREAM)
        stream->reset = true;
    if (frame->hd.type == NGHTTP2_HEADERS && !stream->head_complete)
        take_head(m, stream, frame);
    if ((frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
        stream->ended = true;
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t length,
                   void *context)
{
    struct http2_connection *m = context;
    struct http2_stream *stream = nghttp2_session_get_stream_user_data(session, id);

    (void)flags;
    if (m == NULL || stream == NULL)
        return 0;
    stream->malformed = stream->malformed || !stream->head_complete;
    asked_look(m->all, &stream->asked, stream->request, stream->head.status, stream->received,
               (const char *)data, length);
    stream->received += length;
    return 0;
}

/* Counts a request whose stream the server has ended or broken off, with `error` as the reason. Returns
 * whether it went well. */
static bool account_for(struct http2_connection *m, struct http2_stream *stream, uint32_t error)
{
    struct reply_head *head = &stream->head;
    bool bodiless = connection_kind(m->all, stream->request)->method == METHOD_HEAD || head->status == 204 ||
                    head->status == 304;
    enum failure reason;
    unsigned detail = 0;

    if (!bodiless && head->content_length == REPLY_LENGTH_UNKNOWN)
        head->content_length = stream->received;
    uint64_t expected = bodiless ? 0 : head->content_length;
    if (stream->reset && !stream->ended) {
        m->all->account->streams_reset++;
        reason = FAILURE_RST_STREAM;
        detail = error;
    } else if (stream->malformed || !stream->head_complete || !stream->ended)
        reason = FAILURE_MALFORMED_HEAD;
    else if (stream->received < expected)
        reason = FAILURE_CLOSED_EARLY;
    else if (stream->received > expected)
        reason = FAILURE_UNEXPECTED_DATA;
    else {
        head->body_bytes = stream->received;
        return asked_account(m->all, &stream->asked, stream->request, stream->intended_ns, head);
    }
    account_failure(m->all->account, reason, detail, connection_planned_size(m->all, stream->request));
    return false;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t error, void *context)
{
    struct http2_connection *m = context;
    struct http2_stream *stream = nghttp2_session_get_stream_user_data(session, id);

    if (m == NULL || stream == NULL)
        return 0;
    http2_stream_remove(&m->under_way, stream);
    if (stream->given_up) {
        http2_stream_free(m->all->http2, stream);
        return 0;
    }
    m->in_flight--;
    if (m->leaving && id > m->last_id) {
        m->all->account->asked_again++;
        http2_stream_append(&m->again, stream);
        return 0;
    }
    if (!account_for(m, stream, error))
        m->connection->failed = true;
    m->answered = true;
    if (m->in_flight == 0 && m->connection->request <= m->connection->last_request &&
        http2_waits(m->all, m->connection))
        m->due_ns = m->all->received_ns + asked_pause_ns(m->all, m->connection->request - 1);
    http2_stream_free(m->all->http2, stream);
    return 0;
}

void http2_frames_init(struct http2 *http2)
{
    if (nghttp2_session_callbacks_new(&http2->callbacks) != 0 || nghttp2_option_new(&http2->options) != 0)
        memory_needed(NULL);
    nghttp2_option_set_no_http_messaging(http2->options, 1);
    nghttp2_session_callbacks_set_on_begin_headers_callback(http2->callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(http2->callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(http2->callbacks, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(http2->callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(http2->callbacks, on_stream_close);
}

/* Gives libnghttp2 the next bytes of a request's body. */
static ssize_t read_contents(nghttp2_session *session, int32_t id, uint8_t *buffer, size_t size,
                             uint32_t *flags, nghttp2_data_source *source, void *context)
{
    const struct http2_connection *m = context;
    struct http2_stream *stream = source->ptr;

    (void)session;
    (void)id;
    if (m == NULL)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const struct request_kind *kind = connection_kind(m->all, stream->request);
    size_t left = kind->text_length - kind->path_length - stream->contents_sent;
    size_t length = left < size ? left : size;
    memcpy(buffer, kind->text + kind->path_length + stream->contents_sent, length);
    stream->contents_sent += (uint32_t)length;
    if (length == left)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)length;
}

static nghttp2_nv field(const char *name, const char *value, size_t length)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name), length,
                        NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
}

void http2_submit(struct http2_connection *m, struct http2_stream *stream)
{
    static const char agent[] = "trimtab-load/" TRIMTAB_VERSION;
    const struct http2 *http2 = m->all->http2;
    const struct request_kind *kind = connection_kind(m->all, stream->request);
    nghttp2_data_provider contents = {.source.ptr = stream, .read_callback = read_contents};
    size_t count = 0;
    nghttp2_nv fields[FIELDS_MAX];

    fields[count++] = field(":method", method_name(kind->method), strlen(method_name(kind->method)));
    fields[count++] = field(":scheme", http2->scheme, strlen(http2->scheme));
    fields[count++] = field(":authority", http2->authority, strlen(http2->authority));
    fields[count++] = field(":path", kind->text, kind->path_length);
    fields[count++] = field("user-agent", agent, sizeof(agent) - 1);
    if (stream->asked.conditional)
        fields[count++] = field(kind->by_tag ? "if-none-match" : "if-modified-since", kind->conditional_text,
                                kind->conditional_length);
    stream->id = nghttp2_submit_request(m->session, NULL, fields, count,
                                        kind->method == METHOD_POST ? &contents : NULL, stream);
    if (stream->id < 0)
        memory_needed(NULL); /* the numbers of streams give out after 2^30 requests, later than any run */
    m->all->account->streams++;
}

bool http2_end_requests(struct connections *all, struct connection *c, enum outcome outcome,
                        enum failure reason, unsigned detail)
{
    struct http2_connection *m = c->http2;
    bool any = false;

    if (m == NULL)
        return false;
    struct http2_streams *const lists[] = {&m->under_way, &m->again};
    for (unsigned i = 0; i < 2; i++)
        for (struct http2_stream *stream; (stream = lists[i]->first) != NULL;) {
            uint64_t size = connection_planned_size(all, stream->request);
            if (!stream->given_up && outcome == OUTCOME_FAILED)
                account_failure(all->account, reason, detail, size);
            else if (!stream->given_up)
                account_outcome(all->account, outcome, size);
            any = any || !stream->given_up;
            /* libnghttp2 knows the stream still, until the connection is closed. */
            if (m->session != NULL)
                nghttp2_session_set_stream_user_data(m->session, stream->id, NULL);
            http2_stream_remove(lists[i], stream);
            http2_stream_free(all->http2, stream);
        }
    m->in_flight = 0;
    return any;
}

void http2_close(struct connections *all, struct connection *c, bool for_good)
{
    struct http2_connection *m = c->http2;
    const uint8_t *frame;

    if (m == NULL)
        return;
    if (m->session != NULL) {
        nghttp2_session_set_user_data(m->session, NULL);
        /* RFC 9113 §6.8: so that the server knows that nothing more is to come. */
        if (!all->network.close_with_reset && m->unsent == NULL && !m->leaving &&
            nghttp2_session_terminate_session(m->session, NGHTTP2_NO_ERROR) == 0)
            for (ssize_t length; (length = nghttp2_session_mem_send(m->session, &frame)) > 0;)
                if (all->transport->send(all, c, frame, (size_t)length) < 0)
                    break;
        nghttp2_session_del(m->session);
        m->session = NULL;
    }
    free(m->unsent);
    m->unsent = NULL;
    m->unsent_begin = m->unsent_bytes = 0;
    if (!for_good)
        return;
    free(m);
    c->http2 = NULL;
}
