/*
 * The worker processes when the kernel has no room for one.
 */
#include "httpd/config/config.h"
#include "httpd/io/events.h"
#include "httpd/log.h"
#include "httpd/process/worker_processes.h"
#include "tests/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* In the place of the C library's: there is no further process to be had. */
long syscall(long number, ...)
{
    assert_int_equal(number, SYS_clone);
    errno = EAGAIN;
    return -1;
}

static int open_descriptors(void)
{
    int count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void test_process_that_cannot_be_made_leaves_no_event_set_open(void **state)
{
    struct config config = {0};
    struct worker_process process = {0};
    struct master master = {
        .config = &config, .layout = {.shared_descriptors = true}, .workers = &process, .worker_count = 1};
    const int before = open_descriptors();
    char said[256] = "";

    (void)state;
    while (strcmp(event_mechanism_at((size_t)config.values[KNOB_EVENTS].integer)->name, "epoll") != 0)
        config.values[KNOB_EVENTS].integer++;
    log_divert(said, sizeof(said));
    worker_processes_start(&master);
    log_divert(NULL, 0);
    assert_non_null(strstr(said, "cannot start worker 0"));
    assert_int_equal(process.pid, 0);
    assert_null(process.events);
    assert_true(process.restart_ns > 0); /* it is tried again */
    assert_int_equal(open_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process_that_cannot_be_made_leaves_no_event_set_open),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
