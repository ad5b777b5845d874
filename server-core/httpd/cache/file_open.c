/*
 * See file_open.h.
 *
 * O_NONBLOCK keeps open(2) of a FIFO from waiting for a writer; for regular files it means nothing.
 */
#include "httpd/cache/file_open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OPEN_FLAGS       (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
#define COMPONENT_MAX    255 /* NAME_MAX of Linux */
#define RACE_RETRIES_MAX 8   /* openat2 returns EAGAIN when a rename interfered with its check */

const struct open_how file_open_how = {
    .flags = OPEN_FLAGS,
    .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
};

int file_open_walking(int root, const char *path)
{
    int directory = root;
    int fd = -1;

    for (;;) {
        const char *slash = strchr(path, '/');
        const size_t length = slash ? (size_t)(slash - path) : strlen(path);
        const bool last = !slash || slash[1] == '\0';
        char component[COMPONENT_MAX + 1];
        int flags = last ? OPEN_FLAGS | O_NOFOLLOW : O_PATH | O_CLOEXEC | O_NOFOLLOW | O_DIRECTORY;

        if (slash && last)
            flags |= O_DIRECTORY;
        if (length > COMPONENT_MAX) {
            errno = ENAMETOOLONG;
            fd = -1;
        } else if (length == 2 && memcmp(path, "..", 2) == 0) {
            errno = EXDEV;
            fd = -1;
        } else {
            memcpy(component, path, length);
            component[length] = '\0';
            fd = openat(directory, length ? component : ".", flags);
            if (fd < 0 && errno == ENOTDIR && !last) {
                /* What O_NOFOLLOW | O_DIRECTORY says of a link; tell it from a file in the middle. */
                char target[1];

                errno = readlinkat(directory, component, target, sizeof(target)) >= 0 ? ELOOP : ENOTDIR;
            }
        }
        if (directory != root) {
            const int error = errno;

            close(directory);
            errno = error;
        }
        if (fd < 0 || last)
            return fd;
        directory = fd;
        path = slash + 1;
    }
}

int file_open_beneath(int root, const char *path)
{
    static atomic_bool unavailable;

    for (int i = 0; !unavailable && i < RACE_RETRIES_MAX; i++) {
        const int fd =
            (int)syscall(SYS_openat2, root, *path ? path : ".", &file_open_how, sizeof(file_open_how));

        if (fd >= 0 || (errno != ENOSYS && errno != EPERM && errno != EAGAIN))
            return fd;
        /* EPERM comes from a sandbox's filter: opening for reading never yields it by itself. */
        unavailable = errno == ENOSYS || errno == EPERM;
    }
    return file_open_walking(root, path);
}

bool file_open_would_wait(int root, const char *path)
{
    struct open_how how = file_open_how;
    int fd;

    how.resolve |= RESOLVE_CACHED;
    fd = (int)syscall(SYS_openat2, root, *path ? path : ".", &how, sizeof(how));
    if (fd < 0)
        return errno == EAGAIN || errno == EINVAL || errno == ENOSYS || errno == EPERM;
    close(fd);
    return false;
}
