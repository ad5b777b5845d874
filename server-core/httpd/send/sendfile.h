/*
 * The one place where file data goes to sockets.
 *
 * `nonblocking`: the socket does not block, so a call sends what fits the socket's buffer, or less if
 * something cuts it short; when the socket is full, the worker goes on with other connections and calls again
 * once it is writable.
 *
 * `blocking`: the socket blocks, so one call returns when the last byte is in the socket's buffer; the
 * process is held until then, and its attention is proportional to the size of the file. The listener's
 * SO_SNDTIMEO (listeners.h), which accepted sockets inherit, ends the call when the peer takes nothing for
 * that long.
 */
#ifndef TRIMTAB_HTTPD_SEND_SENDFILE_H
#define TRIMTAB_HTTPD_SEND_SENDFILE_H

#include "httpd/counters/metrics.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum send_outcome {
    SEND_COMPLETE,
    SEND_BLOCKED,   /* the buffer of a non-blocking socket is full */
    SEND_PAUSED,    /* it may have room still, but others have their turn now (delivery.h) */
    SEND_HELD,      /* what follows must be looked at first (delivery.h) */
    SEND_ELSEWHERE, /* somebody else has it, and will say what has become of it (driver.h) */
    SEND_STALLED,   /* a blocking call was ended by its timeout */
    SEND_TRUNCATED, /* the file has become shorter than it was when it was opened */
    SEND_FAILED,    /* errno says why; the peer has gone */
};

/* Sends `file` from *offset up to `end` to a socket in the mode that `blocking` says, and advances *offset.
 * Counts calls and bytes. */
enum send_outcome sendfile_range(int socket, bool blocking, int file, off_t *offset, off_t end,
                                 struct counters *counters);

/* Puts a socket into blocking or non-blocking mode. */
void sendfile_set_blocking(int socket, bool blocking);

/* Says whether a socket that does not block takes more. If not, the kernel has noted that somebody waits for
 * room, and reports it; otherwise it would not (SOCK_NOSPACE, which tcp_poll() in net/ipv4/tcp.c sets). So a
 * call that has sent less than it was asked to is a reason to ask, not to wait. */
bool socket_has_room(int socket);

#endif
