/*
 * Sending by sendfile to a socket that does not block: whatever cuts a call short, the socket is called full
 * only when it is so. Otherwise nobody would ever report that there is room, and the reply would hang.
 */
#include "httpd/send/sendfile.h"
#include "tests/unit.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define FILE_BYTES (64 << 20)
#define STALLED_MS 5000

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
    (void)number;
    signals = signals + 1;
}

/* Has a signal come every 30 us from now on, or none. */
static void set_signals(bool coming)
{
    const struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
    const struct timeval every = {.tv_usec = coming ? 30 : 0};
    const struct itimerval timer = {.it_interval = every, .it_value = every};

    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

static int make_file(void)
{
    const int file = memfd_create("file", 0);

    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, FILE_BYTES), 0);
    return file;
}

/* Makes the two ends of a connection over TCP; the first one does not block. */
static void make_connection(int *ends)
{
    const struct sockaddr_in any_port = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in address = any_port;
    socklen_t length = sizeof(address);
    const int listener = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(bind(listener, (const struct sockaddr *)&any_port, sizeof(any_port)), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    ends[1] = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(ends[1], (const struct sockaddr *)&address, sizeof(address)), 0);
    ends[0] = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    assert_true(ends[0] >= 0);
    close(listener);
}

/* Takes what comes at `socket` until `events`, an epoll descriptor, has something to report. Returns false if
 * it never has. */
static bool take_until_reported(int socket, int events)
{
    static char buffer[1 << 20];
    struct pollfd polled[] = {{.fd = events, .events = POLLIN}, {.fd = socket, .events = POLLIN}};
    struct epoll_event event;

    while (poll(polled, 2, STALLED_MS) > 0) {
        if (polled[0].revents)
            return epoll_wait(events, &event, 1, 0) == 1;
        assert_true(read(socket, buffer, sizeof(buffer)) > 0);
    }
    return false;
}

static void test_reply_gets_through_though_signals_cut_calls_short(void **state)
{
    const int file = make_file(), events = epoll_create1(0);
    struct epoll_event watched = {.events = EPOLLOUT | EPOLLET}, event;
    struct counters counters = {0};
    off_t offset = 0;
    int ends[2];

    (void)state;
    make_connection(ends);
    assert_int_equal(epoll_ctl(events, EPOLL_CTL_ADD, ends[0], &watched), 0);
    assert_int_equal(epoll_wait(events, &event, 1, 0), 1);
    for (bool complete = false; !complete;) {
        set_signals(true);
        complete = sendfile_range(ends[0], false, file, &offset, FILE_BYTES, &counters) == SEND_COMPLETE;
        set_signals(false);
        if (!complete)
            assert_true(take_until_reported(ends[1], events));
    }
    assert_int_equal(counters.bytes_sent, FILE_BYTES);
    assert_true(signals > 0);
    close(ends[0]);
    close(ends[1]);
    close(events);
    close(file);
}

static void test_file_that_has_become_shorter_is_told_from_a_full_socket(void **state)
{
    const int file = make_file();
    struct counters counters = {0};
    int sockets[2];
    off_t offset = 0;

    (void)state;
    assert_int_equal(ftruncate(file, 1000), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets), 0);
    assert_int_equal(sendfile_range(sockets[0], false, file, &offset, FILE_BYTES, &counters), SEND_TRUNCATED);
    assert_int_equal(offset, 1000);
    assert_int_equal(counters.bytes_sent, 1000);
    close(sockets[0]);
    close(sockets[1]);
    close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reply_gets_through_though_signals_cut_calls_short),
        cmocka_unit_test(test_file_that_has_become_shorter_is_told_from_a_full_socket),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
