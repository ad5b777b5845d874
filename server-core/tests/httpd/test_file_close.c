/*
 * Unit tests of closing files that the cache has given up: who does it.
 */
#include "httpd/cache/file_close.h"
#include "tests/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LARGE (8 << 20)
#define SMALL 4096

static pthread_t caller;
static _Atomic int closed_here, closed_aside;

/* In the place of the C library's: notes who closes. */
int close(int fd)
{
    const int result = (int)syscall(SYS_close, fd);

    atomic_fetch_add(pthread_equal(pthread_self(), caller) ? &closed_here : &closed_aside, 1);
    return result;
}

/* Opens a new file that has no name any more. */
static int open_deleted(off_t bytes)
{
    char path[] = "/tmp/test_file_close.XXXXXX";
    const int fd = mkstemp(path);

    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(posix_fallocate(fd, 0, bytes), 0);
    return fd;
}

/* Closes a file and asserts that the expected thread has done so. */
static void assert_closed(int fd, void *mapped, size_t bytes, bool aside)
{
    caller = pthread_self();
    closed_here = closed_aside = 0;
    file_close(fd, mapped, bytes);
    while (closed_here + closed_aside == 0)
        usleep(100);
    assert_int_equal(closed_aside, aside);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void test_large_file_that_was_deleted_is_closed_by_a_thread(void **state)
{
    (void)state;
    file_close_set_aside(true);
    assert_closed(open_deleted(LARGE), NULL, 0, true);
}

static void test_large_mapping_is_taken_away_by_a_thread(void **state)
{
    const int fd = open_deleted(LARGE);
    void *mapped = mmap(NULL, LARGE, PROT_READ, MAP_SHARED, fd, 0);
    unsigned char resident;

    (void)state;
    assert_ptr_not_equal(mapped, MAP_FAILED);
    file_close_set_aside(true);
    assert_closed(fd, mapped, LARGE, true);
    assert_int_equal(mincore(mapped, 1, &resident), -1); /* it is not there any more */
}

static void test_what_is_quick_is_done_by_the_caller(void **state)
{
    char path[] = "/tmp/test_file_close.XXXXXX";
    const int kept = mkstemp(path);

    (void)state;
    assert_true(kept >= 0);
    assert_int_equal(posix_fallocate(kept, 0, LARGE), 0);
    file_close_set_aside(true);
    assert_closed(open_deleted(SMALL), NULL, 0, false);
    assert_closed(kept, NULL, 0, false); /* it still has its name */
    unlink(path);
}

static void test_architecture_that_may_wait_has_no_thread_for_it(void **state)
{
    (void)state;
    file_close_set_aside(false);
    assert_closed(open_deleted(LARGE), NULL, 0, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_large_file_that_was_deleted_is_closed_by_a_thread),
        cmocka_unit_test(test_large_mapping_is_taken_away_by_a_thread),
        cmocka_unit_test(test_what_is_quick_is_done_by_the_caller),
        cmocka_unit_test(test_architecture_that_may_wait_has_no_thread_for_it),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
