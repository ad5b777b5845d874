/*
 * Messages of who serves: they neither wait for a reader of stderr nor come without limit.
 */
#include "common/clock.h"
#include "httpd/log.h"
#include "tests/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int reader, saved_stderr;

/* Makes stderr a pipe. */
static int set_up(void **state)
{
    int ends[2];

    (void)state;
    alarm(120); /* ends a write that waits */
    saved_stderr = dup(STDERR_FILENO);
    if (saved_stderr < 0 || pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0)
        return -1;
    close(ends[1]);
    reader = ends[0];
    return fcntl(reader, F_SETFL, O_NONBLOCK);
}

static int tear_down(void **state)
{
    (void)state;
    alarm(0);
    close(reader);
    return dup2(saved_stderr, STDERR_FILENO) < 0 || close(saved_stderr) != 0;
}

/* Returns how many lines there are to read; the last goes into `last`. */
static unsigned read_lines(char *last, size_t size)
{
    static char text[1 << 17];
    const ssize_t length = read(reader, text, sizeof(text) - 1);
    unsigned lines = 0;

    text[length > 0 ? length : 0] = '\0';
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++)
        snprintf(last, size, "%s", line);
    return lines;
}

static uint64_t this_second(void)
{
    return clock_now_ns() / NS_PER_S;
}

static void test_serving_process_writes_some_lines_a_second_and_counts_the_others(void **state)
{
    char last[256];
    uint64_t second, ended = 0;

    (void)state;
    log_set_process("worker 0");
    do { /* until all fall into one second, of which nothing is used up yet */
        while ((second = this_second()) == ended) {
        }
        read_lines(last, sizeof(last));
        for (int i = 0; i < 1000; i++)
            log_line("again");
        ended = this_second();
    } while (ended != second);
    assert_in_range(read_lines(last, sizeof(last)), 1, 100);
    assert_string_equal(last, "trimtab-httpd: worker 0: again");
    log_set_process(NULL);
    log_line("the master");
    assert_int_equal(read_lines(last, sizeof(last)), 1);
    assert_non_null(strstr(last, " messages left out) the master"));
}

static void test_master_says_everything(void **state)
{
    char last[256];

    (void)state;
    log_set_process(NULL);
    for (int i = 0; i < 1000; i++)
        log_line("mistake %d", i);
    assert_int_equal(read_lines(last, sizeof(last)), 1000);
}

static void test_serving_process_does_not_wait_for_a_reader(void **state)
{
    char full[4096] = {0};

    (void)state;
    assert_int_equal(fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK), 0);
    while (write(STDERR_FILENO, full, sizeof(full)) > 0) {
    }
    assert_int_equal(fcntl(STDERR_FILENO, F_SETFL, 0), 0);
    log_set_process("worker 0");
    log_line("nobody reads");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_serving_process_writes_some_lines_a_second_and_counts_the_others,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_master_says_everything, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_serving_process_does_not_wait_for_a_reader, set_up, tear_down),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
