/*
 * The system calls that a process is left with.
 */
#include "httpd/config/sandbox.h"
#include "tests/unit.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum bounds { FREE, BOUND, BOUND_WITH_RINGS };

/* Makes a call, whose arguments make no sense, in a process of its own. Returns the errno that it gets. */
static int errno_of(long call, enum bounds bounds)
{
    const pid_t pid = fork();
    int status = 0;

    assert_true(pid >= 0);
    if (pid == 0) {
        if (bounds != FREE &&
            (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !sandbox_enter(bounds == BOUND_WITH_RINGS)))
            _exit(0);
        errno = 0;
        syscall(call, -1, -1, -1, -1, -1, -1);
        _exit(errno);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_not_equal(WEXITSTATUS(status), 0);
    return WEXITSTATUS(status);
}

static void test_what_serving_needs_is_left_as_it_was(void **state)
{
    static const long needed[] = {SYS_openat2, SYS_sendfile, SYS_accept4, SYS_recvfrom,
                                  SYS_sendmsg, SYS_mmap,     SYS_preadv2, SYS_epoll_ctl};

    (void)state;
    for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
        assert_int_equal(errno_of(needed[i], BOUND), errno_of(needed[i], FREE));
}

static void test_programs_servers_and_other_processes_are_out_of_reach(void **state)
{
    static const long refused[] = {SYS_execve, SYS_socket, SYS_connect,          SYS_bind,
                                   SYS_ptrace, SYS_kill,   SYS_process_vm_readv, SYS_setuid};

    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        assert_int_not_equal(errno_of(refused[i], FREE), EPERM);
        assert_int_equal(errno_of(refused[i], BOUND), EPERM);
        assert_int_equal(errno_of(refused[i], BOUND_WITH_RINGS), EPERM);
    }
}

static void test_ring_is_for_those_alone_that_work_with_one(void **state)
{
    static const long of_rings[] = {SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register};

    (void)state;
    for (size_t i = 0; i < sizeof(of_rings) / sizeof(*of_rings); i++) {
        assert_int_equal(errno_of(of_rings[i], BOUND), EPERM);
        assert_int_equal(errno_of(of_rings[i], BOUND_WITH_RINGS), errno_of(of_rings[i], FREE));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_serving_needs_is_left_as_it_was),
        cmocka_unit_test(test_programs_servers_and_other_processes_are_out_of_reach),
        cmocka_unit_test(test_ring_is_for_those_alone_that_work_with_one),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
