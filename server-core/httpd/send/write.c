/*
 * See write.h.
 */
#include "httpd/send/write.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define BUFFER_BYTES 16384 /* the stacks of user-level threads are small */

/* Counts one call. */
static void count(struct counters *counters, ssize_t sent, size_t asked)
{
    counters->write_calls++;
    counters->write_partial += sent < (ssize_t)asked;
    if (sent > 0)
        counters->bytes_sent += (uint64_t)sent;
}

enum send_outcome write_range(int socket, bool blocking, const char *bytes, off_t *offset, off_t end,
                              bool more, struct counters *counters)
{
    while (*offset < end) {
        const size_t asked = (size_t)(end - *offset);
        const ssize_t sent = send(socket, bytes + *offset, asked, MSG_NOSIGNAL | (more ? MSG_MORE : 0));

        count(counters, sent, asked);
        if (sent >= 0) {
            *offset += sent;
            if (sent < (ssize_t)asked && !blocking && !socket_has_room(socket))
                return SEND_BLOCKED;
        } else if (errno == EAGAIN) {
            return blocking ? SEND_STALLED : SEND_BLOCKED;
        } else if (errno != EINTR) {
            return SEND_FAILED;
        }
    }
    return SEND_COMPLETE;
}

enum send_outcome write_file_range(int socket, bool blocking, int file, off_t *offset, off_t end, bool more,
                                   struct counters *counters)
{
    char buffer[BUFFER_BYTES];

    while (*offset < end) {
        const size_t wanted = end - *offset < BUFFER_BYTES ? (size_t)(end - *offset) : BUFFER_BYTES;
        const ssize_t got = pread(file, buffer, wanted, *offset);
        enum send_outcome outcome;
        off_t sent = 0;

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return SEND_TRUNCATED;
        outcome = write_range(socket, blocking, buffer, &sent, got, more || *offset + got < end, counters);
        *offset += sent;
        if (outcome != SEND_COMPLETE)
            return outcome;
    }
    return SEND_COMPLETE;
}

ssize_t write_head_and_range(int socket, const char *head, size_t head_length, const char *bytes,
                             off_t *offset, off_t end, bool more, struct counters *counters)
{
    const size_t range_length = (size_t)(end - *offset);
    struct iovec parts[2] = {
        {.iov_base = (void *)(uintptr_t)head, .iov_len = head_length},
        {.iov_base = (void *)(uintptr_t)(bytes + *offset), .iov_len = range_length},
    };
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | (more ? MSG_MORE : 0));

    count(counters, sent, head_length + range_length);
    if (sent <= (ssize_t)head_length)
        return sent;
    *offset += sent - (ssize_t)head_length;
    return (ssize_t)head_length;
}
