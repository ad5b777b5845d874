/*
 * See accounting.h.
 */
#include "accounting.h"

#include "common/clock.h"
#include "memory.h"

#include <nghttp2/nghttp2.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The histograms of an account, as a list of the places of their pointers. */
static const size_t histogram_places[] = {
    offsetof(struct account, lateness_us),  offsetof(struct account, connect_us),
    offsetof(struct account, handshake_us), offsetof(struct account, first_byte_us),
    offsetof(struct account, reply_us),     offsetof(struct account, progress_us),
};

enum { HISTOGRAM_COUNT = sizeof(histogram_places) / sizeof(*histogram_places) };

static struct histogram **histogram_at(const struct account *account, unsigned index)
{
    return (struct histogram **)(void *)((char *)(uintptr_t)account + histogram_places[index]);
}

size_t account_bytes(void)
{
    return sizeof(struct account) + HISTOGRAM_COUNT * histogram_bytes(HISTOGRAM_PRECISION_3_DIGITS);
}

struct account *account_init(void *memory, uint64_t warmup_end_ns, uint64_t window_end_ns)
{
    struct account *account = memory;
    char *free_memory = (char *)memory + sizeof(*account);

    *account = (struct account){.warmup_end_ns = warmup_end_ns, .window_end_ns = window_end_ns};
    for (unsigned i = 0; i < HISTOGRAM_COUNT; i++) {
        *histogram_at(account, i) = histogram_init(free_memory, HISTOGRAM_PRECISION_3_DIGITS);
        free_memory += histogram_bytes(HISTOGRAM_PRECISION_3_DIGITS);
    }
    return account;
}

struct account *account_new(uint64_t warmup_end_ns, uint64_t window_end_ns)
{
    return account_init(memory_needed(malloc(account_bytes())), warmup_end_ns, window_end_ns);
}

static void add_all(uint64_t *to, const uint64_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

void account_merge(struct account *to, const struct account *from)
{
    to->sessions_offered += from->sessions_offered;
    to->sessions_started += from->sessions_started;
    to->sessions_slow += from->sessions_slow;
    to->most_open += from->most_open; /* each at its own moment, so no fewer than at any one */
    add_all(to->session_ends, from->session_ends, SESSION_END_COUNT);
    add_all(to->sessions_dropped, from->sessions_dropped, DROP_COUNT);
    to->requests_offered += from->requests_offered;
    to->requests_dropped += from->requests_dropped;
    add_all(to->requests, from->requests, OUTCOME_COUNT);
    size_classes_merge(&to->size_classes, &from->size_classes);
    add_all(to->replies_by_status, from->replies_by_status, STATUS_MAX + 1);
    to->replies_verified += from->replies_verified;
    add_all(to->failures, from->failures, FAILURE_STATUS);
    add_all(to->failures_by_status, from->failures_by_status, STATUS_MAX + 1);
    add_all(to->failures_by_errno, from->failures_by_errno, ERRNO_MAX + 1);
    add_all(to->failures_by_reset, from->failures_by_reset, HTTP2_ERROR_MAX + 1);
    add_all(to->failures_by_goaway, from->failures_by_goaway, HTTP2_ERROR_MAX + 1);
    to->handshakes += from->handshakes;
    to->handshakes_resumed += from->handshakes_resumed;
    to->handshakes_failed += from->handshakes_failed;
    to->sessions_resumption_offered += from->sessions_resumption_offered;
    to->window_handshakes += from->window_handshakes;
    to->streams += from->streams;
    to->streams_reset += from->streams_reset;
    if (from->most_streams > to->most_streams)
        to->most_streams = from->most_streams;
    to->goaways += from->goaways;
    to->asked_again += from->asked_again;
    to->connections_reopened += from->connections_reopened;
    to->bytes_received += from->bytes_received;
    to->window_bytes += from->window_bytes;
    to->window_replies += from->window_replies;
    to->window_due += from->window_due;
    to->late_arrivals += from->late_arrivals;
    to->replied_bytes += from->replied_bytes;
    for (unsigned i = 0; i < HISTOGRAM_COUNT; i++)
        histogram_merge(*histogram_at(to, i), *histogram_at(from, i));
}

static void record_latency(const struct account *account, struct histogram *histogram, uint64_t intended_ns,
                           uint64_t now_ns)
{
    if (intended_ns >= account->warmup_end_ns)
        histogram_record(histogram, (now_ns - intended_ns) / NS_PER_US);
}

void account_arrival(struct account *account, uint32_t requests)
{
    account->sessions_offered++;
    account->requests_offered += requests;
}

void account_offer(struct account *account)
{
    account->requests_offered++;
}

void account_drop(struct account *account, enum drop reason, uint32_t requests)
{
    account->sessions_dropped[reason]++;
    account->requests_dropped += requests;
}

void account_start(struct account *account, uint64_t intended_ns, uint64_t started_ns)
{
    uint64_t late_us = (started_ns - intended_ns) / NS_PER_US;

    account->sessions_started++;
    histogram_record(account->lateness_us, late_us);
    if (late_us > ACCOUNT_LATE_US)
        account->late_arrivals++;
}

void account_connected(struct account *account, uint64_t intended_ns, uint64_t now_ns)
{
    record_latency(account, account->connect_us, intended_ns, now_ns);
}

void account_first_byte(struct account *account, uint64_t intended_ns, uint64_t now_ns)
{
    record_latency(account, account->first_byte_us, intended_ns, now_ns);
}

static bool in_window(const struct account *account, uint64_t moment_ns)
{
    return moment_ns >= account->warmup_end_ns && moment_ns < account->window_end_ns;
}

void account_handshake(struct account *account, uint64_t begun_ns, uint64_t now_ns, bool resumed)
{
    record_latency(account, account->handshake_us, begun_ns, now_ns);
    account->handshakes++;
    account->handshakes_resumed += resumed;
    account->window_handshakes += in_window(account, now_ns);
}

void account_due(struct account *account, uint64_t due_ns)
{
    account->window_due += in_window(account, due_ns);
}

void account_reply(struct account *account, uint64_t intended_ns, uint64_t now_ns, uint64_t bytes,
                   uint64_t size_bytes)
{
    account_outcome(account, OUTCOME_REPLIED, size_bytes);
    record_latency(account, account->reply_us, intended_ns, now_ns);
    if (in_window(account, now_ns)) {
        account->window_replies++;
        account->window_bytes += bytes;
    }
    account->replied_bytes += bytes;
    histogram_record(account->progress_us, (now_ns - intended_ns) / NS_PER_US);
}

void account_failure(struct account *account, enum failure reason, unsigned detail, uint64_t size_bytes)
{
    account_outcome(account, OUTCOME_FAILED, size_bytes);
    if (reason == FAILURE_STATUS)
        account->failures_by_status[detail]++;
    else if (reason == FAILURE_ERRNO)
        account->failures_by_errno[detail > ERRNO_MAX ? ERRNO_MAX : detail]++;
    else if (reason == FAILURE_RST_STREAM)
        account->failures_by_reset[detail > HTTP2_ERROR_MAX ? HTTP2_ERROR_MAX : detail]++;
    else if (reason == FAILURE_GOAWAY)
        account->failures_by_goaway[detail > HTTP2_ERROR_MAX ? HTTP2_ERROR_MAX : detail]++;
    else
        account->failures[reason]++;
}

void account_outcome(struct account *account, enum outcome outcome, uint64_t size_bytes)
{
    account->requests[outcome]++;
    size_classes_count(&account->size_classes, size_bytes, outcome);
}

void account_session_end(struct account *account, enum session_end end)
{
    account->session_ends[end]++;
}

uint64_t account_dropped_sessions(const struct account *account)
{
    uint64_t dropped = 0;

    for (unsigned reason = 0; reason < DROP_COUNT; reason++)
        dropped += account->sessions_dropped[reason];
    return dropped;
}

uint64_t account_ended_sessions(const struct account *account)
{
    uint64_t ended = 0;

    for (unsigned end = 0; end < SESSION_END_COUNT; end++)
        ended += account->session_ends[end];
    return ended;
}

uint64_t account_timed_out_requests(const struct account *account)
{
    return account->requests[OUTCOME_TIMED_OUT_BEFORE_READ] + account->requests[OUTCOME_TIMED_OUT_AFTER_READ];
}

bool account_balanced(const struct account *account)
{
    uint64_t ended = 0, in_classes = 0;

    for (unsigned outcome = 0; outcome < OUTCOME_COUNT; outcome++)
        ended += account->requests[outcome];
    for (unsigned i = 0; i < account->size_classes.count; i++)
        in_classes += size_class_asked(&account->size_classes.classes[i]);
    return ended == in_classes && account->requests_offered == ended + account->requests_dropped &&
           account->sessions_started == account_ended_sessions(account) &&
           account->sessions_offered == account->sessions_started + account_dropped_sessions(account);
}

static const char *const failure_names[FAILURE_STATUS] = {
    [FAILURE_CONNECT_REFUSED] = "connect-refused",
    [FAILURE_RESET] = "reset",
    [FAILURE_CLOSED_EARLY] = "closed-early",
    [FAILURE_WRONG_LENGTH] = "wrong-length",
    [FAILURE_MALFORMED_HEAD] = "malformed-head",
    [FAILURE_HEAD_TOO_LONG] = "head-too-long",
    [FAILURE_TRANSFER_ENCODING] = "transfer-encoding",
    [FAILURE_MALFORMED_CHUNK] = "malformed-chunk",
    [FAILURE_UNEXPECTED_DATA] = "unexpected-data",
    [FAILURE_WRONG_CONTENT] = "wrong-content",
    [FAILURE_NO_PORT] = "no-port",
    [FAILURE_NO_DESCRIPTOR] = "no-descriptor",
    [FAILURE_TLS_HANDSHAKE] = "tls-handshake",
    [FAILURE_TLS_CERTIFICATE] = "tls-certificate",
    [FAILURE_TLS_RECORD] = "tls-record",
    [FAILURE_NO_HTTP2] = "no-http2",
    [FAILURE_HTTP2_PROTOCOL] = "http2-protocol",
};

/* Puts the name of failure number `index` into `name` (of `size` bytes): first the reasons without a detail,
 * then the statuses, the errnos, and the errors of HTTP/2. Returns the place of its count, NULL behind the
 * last one. */
static uint64_t *failure_at(struct account *account, unsigned index, char *name, size_t size)
{
    if (index < FAILURE_STATUS) {
        snprintf(name, size, "%s", failure_names[index]);
        return &account->failures[index];
    }
    index -= FAILURE_STATUS;
    if (index <= STATUS_MAX) {
        snprintf(name, size, index <= 999 ? "status-%u" : "error-%u", index);
        return &account->failures_by_status[index];
    }
    index -= STATUS_MAX + 1;
    if (index <= ERRNO_MAX) {
        const char *errno_name = strerrorname_np((int)index);
        snprintf(name, size, "errno-%s", errno_name == NULL ? "unknown" : errno_name);
        return &account->failures_by_errno[index];
    }
    index -= ERRNO_MAX + 1;
    if (index <= HTTP2_ERROR_MAX) {
        snprintf(name, size, "rst-stream-%s", nghttp2_http2_strerror(index));
        return &account->failures_by_reset[index];
    }
    index -= HTTP2_ERROR_MAX + 1;
    if (index > HTTP2_ERROR_MAX)
        return NULL;
    snprintf(name, size, "goaway-%s", nghttp2_http2_strerror(index));
    return &account->failures_by_goaway[index];
}

void account_each_failure(const struct account *account,
                          void (*each)(void *context, const char *name, uint64_t count), void *context)
{
    char name[32];
    uint64_t *count;

    for (unsigned i = 0; (count = failure_at((void *)(uintptr_t)account, i, name, sizeof(name))) != NULL; i++)
        if (*count > 0)
            each(context, name, *count);
}

bool account_add_failures(struct account *account, const char *wanted, uint64_t times)
{
    char name[32];
    uint64_t *count;

    for (unsigned i = 0; (count = failure_at(account, i, name, sizeof(name))) != NULL; i++)
        if (strcmp(name, wanted) == 0) {
            *count += times;
            return true;
        }
    return false;
}
