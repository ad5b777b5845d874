/*
 * The ring of the uring architecture when the kernel takes no more from it.
 */
#include "httpd/arch/uring.h"
#include "tests/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

/* Asks for one and the same thing until the ring is full, which the kernel refuses to empty. */
static void fill(struct uring *uring, int wake_fd)
{
    for (unsigned i = 0; uring_watch_wake(uring, wake_fd); i++)
        assert_true(i < 100000);
}

static void test_socket_that_finds_no_room_for_its_closing_is_closed_after_what_was_asked_before(void **state)
{
    struct uring uring = {0};
    const int wake_fd = eventfd(0, EFD_CLOEXEC);
    int kept, pair[2];

    (void)state;
    if (uring_unavailable())
        skip();
    assert_null(uring_open(&uring));
    io_uring_unregister_ring_fd(&uring.ring); /* the descriptor itself is to be used, and taken away */
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    kept = dup(uring.ring.ring_fd);
    close(uring.ring.ring_fd); /* so that submitting fails */
    fill(&uring, wake_fd);

    assert_true(uring_close_socket(&uring, pair[0]));
    assert_int_equal(uring_wait(&uring, 0), -1);
    assert_true(is_open(pair[0])); /* what is in the ring still may name it */

    assert_int_equal(dup2(kept, uring.ring.ring_fd), uring.ring.ring_fd);
    assert_int_equal(uring_wait(&uring, 0), 0);
    assert_false(is_open(pair[0]));
    assert_int_equal(read(pair[1], &(char){0}, 1), 0);

    uring_close(&uring);
    close(kept);
    close(pair[1]);
    close(wake_fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_socket_that_finds_no_room_for_its_closing_is_closed_after_what_was_asked_before),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
