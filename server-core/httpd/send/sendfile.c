/*
 * See sendfile.h.
 */
#include "httpd/send/sendfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

void sendfile_set_blocking(int socket, bool blocking)
{
    fcntl(socket, F_SETFL, blocking ? 0 : O_NONBLOCK);
}

/* Says whether a file has nothing behind `offset`. */
static bool ends_at(int file, off_t offset)
{
    struct stat status;

    return fstat(file, &status) == 0 && status.st_size <= offset;
}

enum send_outcome sendfile_range(int socket, bool blocking, int file, off_t *offset, off_t end,
                                 struct counters *counters)
{
    /* On a blocking socket a short count says little (a timeout, a signal, a shorter file); the call after it
     * tells them apart. */
    while (*offset < end) {
        const ssize_t asked = end - *offset;
        const ssize_t sent = sendfile(socket, file, offset, (size_t)asked);

        counters->sendfile_calls++;
        if (sent > 0) {
            counters->bytes_sent += (uint64_t)sent;
            counters->sendfile_partial += sent < asked;
            if (sent < asked && !blocking)
                return ends_at(file, *offset) ? SEND_TRUNCATED : SEND_BLOCKED;
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
