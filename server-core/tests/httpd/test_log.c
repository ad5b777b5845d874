/*
 * Messages: those of a log do not wait for a reader of stderr, and those of who serves come within a limit.
 */
#include "common/clock.h"
#include "httpd/log.h"
#include "tests/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
            log_error("again");
        ended = this_second();
    } while (ended != second);
    assert_in_range(read_lines(last, sizeof(last)), 1, 100);
    assert_string_equal(last, "trimtab-httpd: worker 0: again");
    log_set_process(NULL);
    log_error("the master");
    assert_int_equal(read_lines(last, sizeof(last)), 1);
    assert_non_null(strstr(last, " messages left out) the master"));
}

static void test_master_says_everything(void **state)
{
    char last[256];

    (void)state;
    log_set_process(NULL);
    for (int i = 0; i < 1000; i++)
        log_error("mistake %d", i);
    assert_int_equal(read_lines(last, sizeof(last)), 1000);
}

/* Says whether a line has a time, of which the digits vary, and then `rest`. */
static bool is_timed(const char *line, const char *rest)
{
    static const char shape[] = "0000-00-00T00:00:00.000Z ";
    size_t i = 0;

    while (shape[i] && (shape[i] == '0' ? line[i] >= '0' && line[i] <= '9' : line[i] == shape[i]))
        i++;
    return !shape[i] && strcmp(line + i, rest) == 0;
}

static void test_log_has_times_and_levels_once_it_is_one(void **state)
{
    char last[256];

    (void)state;
    log_set_process(NULL);
    unsetenv("JOURNAL_STREAM");
    log_error("a sentence");
    assert_int_equal(read_lines(last, sizeof(last)), 1);
    assert_string_equal(last, "trimtab-httpd: a sentence");
    log_begin();
    errno = ENOENT;
    log_errno("nothing");
    assert_int_equal(read_lines(last, sizeof(last)), 1);
    assert_true(is_timed(last, "trimtab-httpd: error: nothing: No such file or directory"));
    log_warning("so so");
    assert_int_equal(read_lines(last, sizeof(last)), 1);
    assert_true(is_timed(last, "trimtab-httpd: warning: so so"));
    log_notice("ready");
    assert_int_equal(read_lines(last, sizeof(last)), 1);
    assert_true(is_timed(last, "trimtab-httpd: notice: ready"));
}

static void test_journal_is_told_the_level_in_its_way(void **state)
{
    struct stat status;
    char last[256], stream[64];

    (void)state;
    assert_int_equal(fstat(STDERR_FILENO, &status), 0);
    snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)status.st_dev, (uintmax_t)status.st_ino);
    setenv("JOURNAL_STREAM", stream, 1);
    log_begin();
    log_warning("so so");
    assert_int_equal(read_lines(last, sizeof(last)), 1);
    assert_string_equal(last, "<4>trimtab-httpd: so so");
    setenv("JOURNAL_STREAM", "1:1", 1); /* inherited, and stderr leads elsewhere */
    log_begin();
    log_warning("so so");
    assert_int_equal(read_lines(last, sizeof(last)), 1);
    assert_true(is_timed(last, "trimtab-httpd: warning: so so"));
}

static void test_log_does_not_wait_for_a_reader(void **state)
{
    char full[4096] = {0};

    (void)state;
    log_begin();
    assert_int_equal(fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK), 0);
    while (write(STDERR_FILENO, full, sizeof(full)) > 0) {
    }
    assert_int_equal(fcntl(STDERR_FILENO, F_SETFL, 0), 0);
    log_set_process("worker 0");
    log_error("nobody reads");
    log_set_process(NULL);
    log_error("nobody reads what the master says");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_serving_process_writes_some_lines_a_second_and_counts_the_others,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_master_says_everything, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_log_has_times_and_levels_once_it_is_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_journal_is_told_the_level_in_its_way, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_log_does_not_wait_for_a_reader, set_up, tear_down),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
