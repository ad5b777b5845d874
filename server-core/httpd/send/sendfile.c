/*
 * See sendfile.h.
 */
#include "httpd/send/sendfile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/sendfile.h>

void sendfile_set_blocking(int socket, bool blocking)
{
    fcntl(socket, F_SETFL, blocking ? 0 : O_NONBLOCK);
}

bool socket_has_room(int socket)
{
    struct pollfd polled = {.fd = socket, .events = POLLOUT};

    return poll(&polled, 1, 0) > 0;
}

enum send_outcome sendfile_range(int socket, bool blocking, int file, off_t *offset, off_t end,
                                 struct counters *counters)
{
    /* A short count says little: the socket is full, the file is shorter, or a signal came. Unless the socket
     * is full, the next call tells them apart. */
    while (*offset < end) {
        const ssize_t asked = end - *offset;
        const ssize_t sent = sendfile(socket, file, offset, (size_t)asked);

        counters->sendfile_calls++;
        if (sent > 0) {
            counters->bytes_sent += (uint64_t)sent;
            counters->sendfile_partial += sent < asked;
            if (sent < asked && !blocking && !socket_has_room(socket))
                return SEND_BLOCKED;
            continue;
        }
        if (sent == 0)
            return SEND_TRUNCATED;
        if (errno == EAGAIN) {
            counters->sendfile_partial++;
            return blocking ? SEND_STALLED : SEND_BLOCKED;
        }
        if (errno != EINTR)
            return SEND_FAILED;
    }
    return SEND_COMPLETE;
}
