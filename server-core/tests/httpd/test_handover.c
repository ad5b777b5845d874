/*
 * The end of a channel by which processes hand connections over.
 */
#include "httpd/arch/handover.h"
#include "httpd/connection/worker.h"
#include "tests/unit.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

static bool is_readable(int fd)
{
    struct pollfd polled = {.fd = fd, .events = POLLIN};

    return poll(&polled, 1, 0) > 0;
}

/* Does what the event loop does with a descriptor that is readable. */
static void serve_sources(struct worker *worker, unsigned from)
{
    for (unsigned i = from; i < worker->source_count; i++) {
        if (is_readable(worker->sources[i].fd))
            worker->sources[i].ready(worker);
    }
}

static void test_end_of_a_full_channel_is_heard_and_what_waits_there_is_not_lost(void **state)
{
    struct worker *worker = calloc(1, sizeof(*worker));
    struct handover handover = {0};
    char byte;

    (void)state;
    assert_non_null(worker);
    assert_int_equal(handover_open(&handover), 0);
    handover_expect(worker, &handover, 2, NULL);
    while (send(handover.pair[0], "x", 1, MSG_NOSIGNAL) == 1) {
    }
    handover_end(&handover);
    serve_sources(worker, 1); /* but for the channel itself */
    assert_true(handover_expects_more(worker));
    handover_end(&handover);
    serve_sources(worker, 1);
    assert_true(handover_expects_more(worker)); /* what waits in it */
    while (recv(handover.pair[1], &byte, 1, 0) == 1) {
    }
    assert_false(handover_expects_more(worker));
    handover_close(&handover);
    free(worker);
}

static void test_zeroed_channel_is_not_closed(void **state)
{
    const struct handover handover = {0};

    (void)state;
    handover_close(&handover);
    assert_true(fcntl(0, F_GETFD) >= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_end_of_a_full_channel_is_heard_and_what_waits_there_is_not_lost),
        cmocka_unit_test(test_zeroed_channel_is_not_closed),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
