/*
 * See file_close.h.
 */
#include "httpd/cache/file_close.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LARGE_BYTES (1 << 20) /* to free so many takes as long as a thread */
#define BLOCK_BYTES 512       /* unit of st_blocks (inode(7)) */

struct closing {
    int fd;
    void *mapped;
    size_t bytes;
};

static _Atomic bool set_aside;

void file_close_set_aside(bool aside)
{
    atomic_store(&set_aside, aside);
}

static void close_now(const struct closing *closing)
{
    if (closing->mapped)
        munmap(closing->mapped, closing->bytes);
    close(closing->fd);
}

static void *run(void *argument)
{
    close_now(argument);
    free(argument);
    return NULL;
}

/* Says whether closing takes long, as far as that can be told: others may have the file open, too. */
static bool takes_long(const struct closing *closing)
{
    struct stat status;

    return (closing->mapped && closing->bytes > LARGE_BYTES) ||
           (fstat(closing->fd, &status) == 0 && status.st_nlink == 0 &&
            status.st_blocks > LARGE_BYTES / BLOCK_BYTES);
}

/* Has a thread close the file. Returns false when there can be none. */
static bool leave_to_thread(const struct closing *closing)
{
    struct closing *copy = malloc(sizeof(*copy));
    pthread_t thread;

    if (!copy)
        return false;
    *copy = *closing;
    if (pthread_create(&thread, NULL, run, copy) != 0) {
        free(copy);
        return false;
    }
    pthread_detach(thread);
    return true;
}

void file_close(int fd, void *mapped, size_t bytes)
{
    const struct closing closing = {fd, mapped, bytes};

    if (!atomic_load_explicit(&set_aside, memory_order_relaxed) || !takes_long(&closing) ||
        !leave_to_thread(&closing))
        close_now(&closing);
}
