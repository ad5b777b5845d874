/*
 * Helper processes, seen from the event loop: a job that could not be sent; and one: a job that comes twice.
 */
#include "httpd/arch/helpers.h"
#include "httpd/connection/worker.h"
#include "tests/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static unsigned done_count;

static void done(struct worker *worker, struct helped_connection *helped, off_t to)
{
    (void)worker, (void)to;
    helped->connection.state = READING;
    done_count++;
}

static void test_helper_is_asked_again_after_a_send_has_failed(void **state)
{
    static const struct event_mechanism edges = {.name = "edges"};
    static struct worker worker = {.driver = &driver_usual, .mechanism = &edges};
    static struct counters counters;
    int requests[1][2];
    struct helper_channels channels = {.requests = requests};
    struct helped_connection connections[2] = {
        {.connection = {.state = READING, .watched = true, .interest = EVENT_READABLE}},
        {.connection = {.state = READING, .watched = true, .interest = EVENT_READABLE}}};
    char junk[256] = {0}, received[8192];
    struct helpers *helpers;

    (void)state;
    worker.counters = &counters;
    timers_init(&worker.timers, 0);
    assert_true(helper_channels_open(&channels, 1));
    while (send(requests[0][0], junk, sizeof(junk), MSG_DONTWAIT) > 0) {
    }
    helpers = helpers_create(&worker, &channels, done);
    assert_non_null(helpers);
    assert_true(helpers_ask(helpers, &connections[0], "first", 0, 10)); /* the channel is full */
    while (recv(requests[0][1], received, sizeof(received), MSG_DONTWAIT) > 0) {
    }
    assert_true(helpers_ask(helpers, &connections[1], "second", 0, 10));
    for (unsigned job = 0; job < 2; job++) {
        struct {
            uint64_t job;
            unsigned helper;
        } completion = {0};

        assert_true(recv(requests[0][1], received, sizeof(received), MSG_DONTWAIT) > 0);
        memcpy(&completion.job, received, sizeof(completion.job));
        assert_int_equal(send(channels.completions[1], &completion, sizeof(completion), 0),
                         sizeof(completion));
        helpers_complete(helpers);
        assert_int_equal(done_count, job + 1);
        assert_int_equal(connections[job].connection.state, READING);
    }
    assert_int_equal(counters.queue_length, 0);
    helpers_destroy(helpers);
}

static void test_job_that_is_given_again_while_the_helper_starts_is_done_once(void **state)
{
    static struct worker worker;
    static struct counters counters;
    static struct config config;
    static const uint64_t jobs[] = {7, 7, 8, 0}; /* 0: the end */
    static const uint64_t answers[] = {0, 7, 8}; /* 0: it has started */
    int requests[1][2];
    struct helper_channels channels = {.requests = requests};

    (void)state;
    config_init(&config);
    config.root = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(config.root >= 0);
    worker.config = &config;
    worker.counters = &counters;
    assert_true(helper_channels_open(&channels, 1));
    for (size_t i = 0; i < sizeof(jobs) / sizeof(*jobs); i++) {
        struct {
            uint64_t job;
            off_t from, to;
            char path[8];
        } request = {.job = jobs[i], .path = "none"};

        assert_int_equal(send(requests[0][0], &request, sizeof(request), 0), sizeof(request));
    }
    assert_int_equal(helper_run(&worker, &channels, 0), EXIT_SUCCESS);
    assert_int_equal(counters.queue_items, 2);
    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
        uint64_t answer[2];

        assert_int_equal(recv(channels.completions[0], answer, sizeof(answer), MSG_DONTWAIT), sizeof(answer));
        assert_int_equal(answer[0], answers[i]);
    }
    assert_true(recv(channels.completions[0], (uint64_t[2]){0}, sizeof(uint64_t[2]), MSG_DONTWAIT) < 0);
    config_release(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_helper_is_asked_again_after_a_send_has_failed),
        cmocka_unit_test(test_job_that_is_given_again_while_the_helper_starts_is_done_once),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
