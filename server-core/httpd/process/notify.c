/*
 * See notify.h.
 */
#include "httpd/process/notify.h"

#include "common/clock.h"
#include "httpd/log.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void send_state(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t length = path ? strlen(path) : 0;
    int fd;

    if (length < 2 || length > sizeof(address.sun_path) || (*path != '/' && *path != '@'))
        return;
    memcpy(address.sun_path, path, length);
    if (*path == '@') /* a name that is in no directory begins with a byte 0 */
        address.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
                         (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) < 0)
        log_errno("cannot tell the service manager at %s", path);
    if (fd >= 0)
        close(fd);
}

void notify_ready(const char *status)
{
    char state[1024];

    snprintf(state, sizeof(state), "READY=1\nSTATUS=%s", status);
    send_state(state);
}

void notify_reloading(void)
{
    char state[64];

    snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_now_ns() / NS_PER_US);
    send_state(state);
}

void notify_stopping(void)
{
    send_state("STOPPING=1");
}
