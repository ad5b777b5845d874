/*
 * Names of files in the uring architecture: a name that is not in the kernel's cache of names is looked up by
 * a thread of the kernel (IOSQE_ASYNC), which waits for the disk instead of the server. The descriptor that
 * this yields is closed again: the cache opens the file for itself then, without waiting.
 */
#include "httpd/arch/uring.h"
#include "httpd/cache/file_open.h"
#include "httpd/connection/answer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Has what lies at `path` below the directory `root` opened. Returns false when the kernel takes no more or
 * there is no memory. */
static bool ask(struct uring *uring, struct uring_connection *own, int root, const char *path)
{
    const size_t length = strlen(path);
    struct opening *opening = malloc(sizeof(*opening) + length + 2);
    struct io_uring_sqe *submission;

    if (!opening)
        return false;
    submission = uring_submission(uring, (uint64_t)(uintptr_t)opening | OP_OPEN);
    if (!submission) {
        free(opening);
        return false;
    }
    strcpy(opening->path, length > 0 ? path : ".");
    io_uring_prep_openat2(submission, root, opening->path, (struct open_how *)(uintptr_t)&file_open_how);
    submission->flags |= IOSQE_ASYNC;
    opening->own = own;
    opening->next = uring->openings;
    opening->link = &uring->openings;
    if (opening->next)
        opening->next->link = &opening->next;
    uring->openings = opening;
    own->opening = opening;
    return true;
}

bool uring_look_up(struct uring *uring, struct worker *worker, struct connection *connection,
                   const struct request *request, const char *data)
{
    struct uring_connection *own = (struct uring_connection *)connection;
    char wanted[FILE_CACHE_PATH_MAX];

    if (answer_would_wait(worker, connection, request, data, &own->asked, wanted)) {
        int root;
        const char *path = file_cache_locate(worker->cache, wanted, &root);

        if (ask(uring, own, root, path)) {
            worker->counters->helper_requests++;
            connection_suspend(worker, connection);
            return true;
        }
    }
    own->asked = 0;
    return false;
}

struct uring_connection *uring_opened(struct opening *opening, int result)
{
    struct uring_connection *own = opening->own;

    if (result >= 0)
        close(result);
    if (own)
        own->opening = NULL;
    *opening->link = opening->next;
    if (opening->next)
        opening->next->link = opening->link;
    free(opening);
    return own;
}

void uring_forget_opening(struct uring_connection *own)
{
    if (own->opening)
        own->opening->own = NULL;
    own->opening = NULL;
}
