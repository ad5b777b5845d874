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
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* A request that is not complete yet, and what one read added to it. Longer input is not handed over. */
#define INPUT_MAX (REQUEST_BYTES_MAX + INPUT_BYTES)

/* The first byte of a message. */
enum { OF_NONBLOCKING, OF_BLOCKING, OF_WANT };

union control {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr alignment;
};

/* Of this process: what it receives from; who has not said yet that it sends no more. */
static const struct handover *incoming;
static unsigned senders;
static void (*tell_adopted)(struct connection *connection);

bool handover_expects_more(const struct worker *worker)
{
    char byte;

    (void)worker;
    return senders > 0 || (incoming && recv(incoming->pair[1], &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0);
}

int handover_open(struct handover *handover)
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, handover->pair) != 0)
        return -1;
    handover->ends = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return handover->ends >= 0 ? 0 : -1;
}

void handover_close(const struct handover *handover)
{
    const int fds[] = {handover->pair[0], handover->pair[1], handover->ends};

    for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
        if (fds[i] > 0)
            close(fds[i]);
    }
}

bool handover_send(const struct handover *handover, int fd, bool blocking, const char *input, size_t length)
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
    return sendmsg(handover->pair[0], &message, MSG_NOSIGNAL) == (ssize_t)(1 + length);
}

void handover_end(const struct handover *handover)
{
    if (eventfd_write(handover->ends, 1) != 0)
        log_errno("cannot end a channel");
}

void handover_ask_for_place(const struct handover *handover)
{
    const char message = OF_WANT;

    /* A receiver whose queue is full has enough to do. */
    (void)!send(handover->pair[0], &message, sizeof(message), MSG_NOSIGNAL);
}

static void make_place(struct worker *worker)
{
    struct connection *connection = recycle_choose(worker, NULL, NULL);

    if (connection)
        serving_retire(worker, &connection->timer);
}

/* Takes one connection over. Returns false when none waits. */
static bool receive_one(struct worker *worker)
{
    static _Thread_local char input[INPUT_MAX];
    char mode = 0;
    union control control;
    struct iovec parts[2] = {{&mode, 1}, {input, sizeof(input)}};
    struct msghdr message = {.msg_iov = parts,
                             .msg_iovlen = 2,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    const ssize_t received = recvmsg(incoming->pair[1], &message, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *rights = received > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    struct connection *connection;
    int fd;

    if (received < 0 && errno != EAGAIN && errno != EINTR)
        log_errno("cannot receive a connection");
    if (received <= 0)
        return false;
    if (mode == OF_WANT) {
        make_place(worker);
        return true;
    }
    if (!rights || rights->cmsg_type != SCM_RIGHTS) {
        /* The kernel drops descriptors that do not fit our table (recvmsg(2), MSG_CTRUNC). */
        log_error("no descriptor was left for a connection from another process");
        worker->counters->connections_closed_by_server++;
        return true;
    }
    memcpy(&fd, CMSG_DATA(rights), sizeof(fd));
    connection = serving_adopt(worker, fd, mode == OF_BLOCKING, input, (size_t)received - 1);
    if (connection && tell_adopted)
        tell_adopted(connection);
    if (connection)
        serving_begin_adopted(worker, connection);
    return true;
}

/* Takes all connections that wait over into the worker and serves their input. */
static void receive(struct worker *worker)
{
    while (receive_one(worker)) {
    }
}

static void count_ends(struct worker *worker)
{
    eventfd_t ended = 0;

    (void)worker;
    if (eventfd_read(incoming->ends, &ended) == 0)
        senders -= ended < senders ? (unsigned)ended : senders;
}

void handover_expect(struct worker *worker, const struct handover *handover, unsigned count,
                     void (*adopted)(struct connection *connection))
{
    incoming = handover;
    senders = count;
    tell_adopted = adopted;
    worker->sources[worker->source_count++] =
        (struct worker_source){.fd = handover->pair[1], .ready = receive};
    worker->sources[worker->source_count++] =
        (struct worker_source){.fd = handover->ends, .ready = count_ends};
}
