/*
 * See helpers.h.
 */
#include "httpd/arch/helpers.h"

#include "httpd/cache/file_open.h"
#include "httpd/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES 131072

/* Job numbers that are no jobs: a helper that has just started says so; a helper is told to end. */
#define JOB_STARTED 0
#define JOB_END     0

struct request_message {
    uint64_t job;
    off_t from, to;
    char path[FILE_CACHE_PATH_MAX]; /* only as much as is needed is sent */
};

struct completion_message {
    uint64_t job;
    unsigned helper;
};

struct job {
    struct job *next;
    struct helped_connection *connection;
    size_t length; /* of the message */
    struct request_message message;
};

struct helpers {
    struct worker *worker;
    const struct helper_channels *channels;
    void (*done)(struct worker *worker, struct helped_connection *connection, off_t to);
    uint64_t last_job;
    struct job *first, **last; /* that wait for a helper */
    struct job *current[];     /* of each helper; NULL: it is idle */
};

bool helper_channels_open(struct helper_channels *channels, unsigned count)
{
    channels->count = count;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channels->completions) != 0)
        return false;
    for (unsigned i = 0; i < count; i++) {
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channels->requests[i]) != 0)
            return false;
    }
    return true;
}

struct helpers *helpers_create(struct worker *worker, const struct helper_channels *channels,
                               void (*done)(struct worker *worker, struct helped_connection *connection,
                                            off_t to))
{
    struct helpers *helpers = calloc(1, sizeof(*helpers) + channels->count * sizeof(*helpers->current));

    if (!helpers)
        return NULL;
    helpers->worker = worker;
    helpers->channels = channels;
    helpers->done = done;
    helpers->last = &helpers->first;
    /* Completions of jobs that a predecessor asked for carry other numbers. */
    helpers->last_job = (uint64_t)getpid() << 32;
    return helpers;
}

/* Gives a job to a helper. Its channel holds no more than a job and its repetition, so sending never waits.
 * Returns false when that fails all the same: then the helper is idle and the job still the caller's. */
static bool give(struct helpers *helpers, unsigned helper, struct job *job)
{
    const bool sent = send(helpers->channels->requests[helper][0], &job->message, job->length,
                           MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;

    if (!sent)
        log_errno("cannot ask helper %u", helper);
    helpers->current[helper] = sent ? job : NULL;
    return sent;
}

/* Puts a job that no helper has before all others that wait. */
static void put_back(struct helpers *helpers, struct job *job)
{
    job->next = helpers->first;
    if (!helpers->first)
        helpers->last = &job->next;
    helpers->first = job;
    helpers->worker->counters->queue_length++;
}

/* Gives waiting jobs to idle helpers. One that could not be given waits on, until there is a job more or a
 * helper is done; if that takes too long, the connection's timeout ends its wait. */
static void dispatch(struct helpers *helpers)
{
    for (unsigned i = 0; helpers->first && i < helpers->channels->count; i++) {
        struct job *job = helpers->first;

        if (helpers->current[i])
            continue;
        helpers->first = job->next;
        if (!helpers->first)
            helpers->last = &helpers->first;
        helpers->worker->counters->queue_length--;
        if (!give(helpers, i, job))
            put_back(helpers, job);
    }
}

bool helpers_ask(struct helpers *helpers, struct helped_connection *connection, const char *path, off_t from,
                 off_t to)
{
    struct counters *counters = helpers->worker->counters;
    struct job *job = malloc(sizeof(*job));

    if (!job)
        return false;
    job->next = NULL;
    job->connection = connection;
    job->message.job = ++helpers->last_job;
    job->message.from = from;
    job->message.to = to;
    strcpy(job->message.path, path);
    job->length = offsetof(struct request_message, path) + strlen(path) + 1;
    *helpers->last = job;
    helpers->last = &job->next;
    counters->helper_requests++;
    counters->queue_length++;
    if (counters->queue_length > counters->queue_length_max)
        counters->queue_length_max = counters->queue_length;
    connection->job = job->message.job;
    connection_suspend(helpers->worker, &connection->connection);
    dispatch(helpers);
    return true;
}

static void finish(struct helpers *helpers, struct job *job)
{
    /* The structure may by now belong to another connection, or to the same with another job. */
    if (job->connection->connection.state == WAITING && job->connection->job == job->message.job)
        helpers->done(helpers->worker, job->connection, job->message.to);
    free(job);
}

void helpers_complete(struct helpers *helpers)
{
    struct completion_message message;

    while (recv(helpers->channels->completions[0], &message, sizeof(message), MSG_DONTWAIT) ==
           sizeof(message)) {
        struct job *job = helpers->current[message.helper];

        if (message.job == JOB_STARTED && job) {
            if (!give(helpers, message.helper, job))
                put_back(helpers, job);
            dispatch(helpers);
        } else if (job && job->message.job == message.job) {
            helpers->current[message.helper] = NULL;
            dispatch(helpers);
            finish(helpers, job);
        }
    }
}

void helpers_destroy(struct helpers *helpers)
{
    const struct request_message end = {.job = JOB_END};

    for (unsigned i = 0; i < helpers->channels->count; i++) {
        if (send(helpers->channels->requests[i][0], &end, offsetof(struct request_message, path),
                 MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            log_errno("cannot end helper %u", i); /* the master kills it in the end */
        free(helpers->current[i]);
    }
    while (helpers->first) {
        struct job *next = helpers->first->next;

        free(helpers->first);
        helpers->first = next;
    }
    free(helpers);
}

/* Brings names and pages into the kernel's caches. What fails here fails again in the event loop, which says
 * so to the client. */
static void do_job(const struct hosts *hosts, int root, const struct request_message *request)
{
    static char buffer[READ_BYTES];
    const char *path = hosts_locate(hosts, request->path, &root);
    const int fd = file_open_beneath(root, path);
    struct stat status;

    if (fd < 0)
        return;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        for (off_t at = request->from; at < request->to;) {
            const size_t wanted =
                request->to - at < READ_BYTES ? (size_t)(request->to - at) : (size_t)READ_BYTES;
            const ssize_t got = pread(fd, buffer, wanted, at);

            if (got <= 0)
                break;
            at += got;
        }
    }
    close(fd);
}

/* Awaits a request. A job that the helper has done before is not one: it was given while the helper started,
 * and again when the event loop heard of the start. Returns what recv(2) does. */
static ssize_t await_request(int channel, struct request_message *request, uint64_t done)
{
    ssize_t received;

    do
        received = recv(channel, request, sizeof(*request), 0);
    while ((received < 0 && errno == EINTR) ||
           (received > 0 && request->job != JOB_END && request->job == done));
    return received;
}

int helper_run(struct worker *worker, const struct helper_channels *channels, unsigned number)
{
    struct completion_message completion = {.job = JOB_STARTED, .helper = number};
    static struct request_message request;

    for (;;) {
        if (send(channels->completions[1], &completion, sizeof(completion), MSG_NOSIGNAL) < 0) {
            log_errno("cannot report a completion");
            return EXIT_RUNTIME;
        }
        if (await_request(channels->requests[number][1], &request, completion.job) <= 0) {
            log_errno("cannot receive a request");
            return EXIT_RUNTIME;
        }
        if (request.job == JOB_END)
            break;
        do_job(&worker->config->hosts, worker->config->root, &request);
        worker->counters->queue_items++;
        completion.job = request.job;
    }
    return EXIT_SUCCESS;
}
