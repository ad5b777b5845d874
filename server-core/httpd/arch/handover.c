/*
 * See handover.h.
 */
#include "httpd/arch/handover.h"

#include "httpd/connection/recycle.h"
#include "httpd/connection/serving.h"
#include "httpd/http/request.h"
#include "httpd/log.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* A request that is not complete yet, and what one read added to it. Longer input is not handed over. */
#define INPUT_MAX (REQUEST_BYTES_MAX + INPUT_BYTES)

/* The first byte of a message. */
enum { OF_NONBLOCKING, OF_BLOCKING, OF_END, OF_WANT };

union control {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr alignment;
};

/* Of this process: who has not said yet that it sends no more. */
static unsigned senders;

void handover_expect(unsigned count)
{
    senders = count;
}

bool handover_expects_more(const struct worker *worker)
{
    (void)worker;
    return senders > 0;
}

int handover_open(int pair[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair);
}

void handover_close(const int pair[2])
{
    for (size_t i = 0; i < 2; i++) {
        if (pair[i] > 0)
            close(pair[i]);
    }
}

bool handover_send(int channel, int fd, bool blocking, const char *input, size_t length)
{
    char mode = blocking ? OF_BLOCKING : OF_NONBLOCKING;
    union control control = {.bytes = {0}};
    struct iovec parts[2] = {{&mode, 1}, {(void *)(uintptr_t)input, length}};
    struct msghdr message = {.msg_iov = parts,
                             .msg_iovlen = 2,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);

    if (length > INPUT_MAX)
        return false;
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
    return sendmsg(channel, &message, MSG_NOSIGNAL) == (ssize_t)(1 + length);
}

void handover_end(int channel)
{
    const char mode = OF_END;

    if (send(channel, &mode, 1, MSG_NOSIGNAL) != 1)
        log_errno("cannot end a channel");
}

void handover_ask_for_place(int channel)
{
    const char message = OF_WANT;

    /* A receiver whose queue is full has enough to do. */
    (void)!send(channel, &message, sizeof(message), MSG_NOSIGNAL);
}

static void make_place(struct worker *worker)
{
    struct connection *connection = recycle_choose(worker, NULL, NULL);

    if (connection)
        serving_retire(worker, &connection->timer);
}

/* Takes one connection over. Returns false when none waits. */
static bool receive_one(struct worker *worker, int channel, void (*adopted)(struct connection *connection))
{
    static _Thread_local char input[INPUT_MAX];
    char mode = 0;
    union control control;
    struct iovec parts[2] = {{&mode, 1}, {input, sizeof(input)}};
    struct msghdr message = {.msg_iov = parts,
                             .msg_iovlen = 2,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    const ssize_t received = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *rights = received > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    struct connection *connection;
    int fd;

    if (received < 0 && errno != EAGAIN && errno != EINTR)
        log_errno("cannot receive a connection");
    if (received <= 0)
        return false;
    if (mode == OF_END) {
        senders--;
        return true;
    }
    if (mode == OF_WANT) {
        make_place(worker);
        return true;
    }
    if (!rights || rights->cmsg_type != SCM_RIGHTS) {
        /* The kernel drops descriptors that do not fit our table (recvmsg(2), MSG_CTRUNC). */
        log_line("no descriptor was left for a connection from another process");
        worker->counters->connections_closed_by_server++;
        return true;
    }
    memcpy(&fd, CMSG_DATA(rights), sizeof(fd));
    connection = serving_adopt(worker, fd, mode == OF_BLOCKING, input, (size_t)received - 1);
    if (connection && adopted)
        adopted(connection);
    if (connection)
        serving_begin_adopted(worker, connection);
    return true;
}

void handover_receive(struct worker *worker, int channel, void (*adopted)(struct connection *connection))
{
    while (receive_one(worker, channel, adopted)) {
    }
}
