/*
 * HTTP/2: whatever a server sends, and however the socket cuts it, each request that was offered ends in one
 * cell, and nothing is lost or used after it was freed.
 *
 * The first byte chooses the session and how much is read at once; the rest is what the server sends, up to
 * the end of the stream. What the generator sends goes nowhere.
 */
#include "loadgen/http2.h"
#include "loadgen/open_sessions.h"
#include "loadgen/sessions.h"
#include "loadgen/transport.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static const uint8_t *input;
static size_t input_bytes, input_read, step;

static ssize_t open_nothing(struct connections *all, struct connection *c)
{
    (void)all;
    (void)c;
    return 1;
}

static ssize_t send_nowhere(struct connections *all, struct connection *c, const void *data, size_t size)
{
    (void)all;
    (void)c;
    (void)data;
    return (ssize_t)size;
}

static ssize_t receive_input(struct connections *all, struct connection *c, void *buffer, size_t size)
{
    size_t left = input_bytes - input_read;

    (void)all;
    (void)c;
    size = size < left ? size : left;
    size = size < step ? size : step;
    memcpy(buffer, input + input_read, size);
    input_read += size;
    return (ssize_t)size;
}

static bool drained_never(const struct connection *c, bool filled)
{
    (void)c;
    (void)filled;
    return false;
}

static void close_nothing(struct connections *all, struct connection *c)
{
    (void)all;
    (void)c;
}

static const struct transport transport_input = {.open = open_nothing,
                                                 .send = send_nowhere,
                                                 .receive = receive_input,
                                                 .close = close_nothing,
                                                 .drained = drained_never};

static const char session_log[] =
    "/a size=1\n /b size=3\n /c\n/h method=HEAD\n/p method=POST contents='xy'\n";

/* Plays one session to its end. It cannot reopen its connection: the destination has no address. */
static void play(const struct session_plan *plan, struct connections *all)
{
    struct connection *c = calloc(1, sizeof(*c));

    REQUIRE(c);
    *c = (struct connection){
        .descriptor = -1,
        .last_request = session_length(plan, 0) - 1,
        .offered_end = session_length(plan, 0),
    };
    account_arrival(all->account, c->offered_end);
    account_start(all->account, 0, 0);
    all->open = 1;
    timeout_queue_append(&all->session_timeouts, &c->timeout, UINT64_MAX - 1);
    if (http2_begin(all, c))
        while (http2_read(all, c, true))
            ;
    /* Left are those that wait for a pause, or that ended with a GOAWAY. */
    connections_interrupt(all);
    REQUIRE(all->open == 0);
    REQUIRE(account_balanced(all->account));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct connections all;
    struct request_form form = {.authority = "a", .http_2 = true};
    struct session_plan plan;
    char error[128];
    FILE *in = fmemopen((char *)(uintptr_t)session_log, sizeof(session_log) - 1, "r");

    REQUIRE(in && sessions_read(&plan, in, "log", &form, error, sizeof(error)));
    fclose(in);
    step = size > 0 ? 1 + bytes[0] % 128U : 1;
    input = bytes + (size > 0);
    input_bytes = size - (size > 0);
    input_read = 0;
    all = (struct connections){
        .plan = &plan,
        .transport = &transport_input,
        .http2 = http2_new(false, form.authority, size > 0 && bytes[0] >= 128 ? 1 : 100),
        .account = account_new(0, UINT64_MAX),
        .timeout_ns = 1,
        .conditional_share = 1,
        .verify_every = 1,
        .network = {.destination_count = 1, .destinations[0].ss_family = AF_UNSPEC},
        .epoll = -1,
    };
    connections_init(&all, 0);
    play(&plan, &all);
    connections_free(&all);
    http2_free(all.http2);
    free(all.account);
    sessions_free(&plan);
    return 0;
}
