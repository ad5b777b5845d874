/*
 * Knot: a user thread for each connection, all of them cooperative and on one kernel thread, and `workers`
 * kernel threads for what may wait for a disk.
 *
 *     event loop = scheduler ---- resumes ----> user thread: accept, read, look up, send what is in memory
 *        ^   ^                                       |
 *        |   +-------- waits for events -------------+
 *        |                                           | a name, or a reply
 *     [done] <--- kernel threads: open, sendfile, read <--- [queue of jobs]
 *
 * The user thread (user_threads.h) tries a system call on a socket first and waits for an event only if it
 * has to. sendfile may wait for the socket and for a disk at once, so it is the workers' job, like opening a
 * file whose name the kernel does not have in its cache. With sendfile = nonblocking a worker sends what
 * fits; the user thread waits until the socket takes more, and asks again. With blocking one call sends
 * everything, and holds a worker until then. With off a worker reads contents that are not in memory, and
 * sends what does not fit the cache. What the server has in memory, such as a small file, a user thread sends
 * itself unless sendfile blocks. Workers without a job sleep.
 */
#include "httpd/arch/architectures.h"
#include "httpd/arch/event_loop.h"
#include "httpd/arch/queue.h"
#include "httpd/arch/user_threads.h"
#include "httpd/connection/sending.h"
#include "httpd/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define BATCH 64

static const enum knob_id UNDERSTOOD[] = {
    KNOB_SENDFILE,          KNOB_WORKERS,       KNOB_MAX_CONNECTIONS, KNOB_ACCEPT_LIMIT, KNOB_AFFINITY,
    KNOB_KEEPALIVE_TIMEOUT, KNOB_CACHE_ENTRIES, KNOB_REQUEST_TIMEOUT, KNOB_COUNT,
};

struct knot {
    struct user_scheduler scheduler; /* first, so that a scheduler is a knot */
    struct queue jobs;               /* user threads with a file to be opened or a reply to be sent */
    struct queue done;               /* those that a worker has dealt with */
    int done_fd;                     /* eventfd: look into `done` */
    _Atomic bool done_told;          /* it has been made readable since that was last done */
    unsigned worker_count;
    pthread_t *threads;
    struct worker **workers; /* of the kernel threads */
};

struct kernel_thread {
    struct knot *knot;
    struct worker *worker;
};

static void lay_out(const struct config *config, struct layout *layout)
{
    *layout = (struct layout){
        .processes = 1,
        .rows = 1 + (unsigned)config_integer(config, KNOB_WORKERS),
        .serving = 1,
        .descriptor_tables = 1,
        .connection_mappings = USER_THREAD_MAPPINGS,
        .listener_sets = 1,
    };
}

static struct row_description describe_row(const struct config *config, unsigned row)
{
    (void)config;
    return (struct row_description){.role = row == 0 ? "scheduler" : "worker", .cpu_position = row};
}

/* --- the kernel threads --- */

static void *work(void *argument)
{
    struct kernel_thread *self = argument;
    struct knot *knot = self->knot;
    struct worker *worker = self->worker;
    void *item;

    worker_pin(worker);
    while (queue_pop(&knot->jobs, &item, 1, 1, -1, &worker->counters->lock_waits) == 1) {
        struct user_thread *thread = item;
        struct connection *connection = &thread->own->connection;

        if (connection->state == WAITING)
            user_thread_open(thread);
        else
            thread->outcome = sending_pass(connection, worker->counters);
        if (!queue_push(&knot->done, &item, 1, &worker->counters->lock_waits))
            log_error("the queue of finished jobs is full: a connection is lost");
        if (!atomic_exchange(&knot->done_told, true))
            eventfd_write(knot->done_fd, 1);
    }
    free(self);
    return NULL;
}

/* --- the scheduler's thread --- */

/* Resumes the threads whose jobs are done. */
static void jobs_done(struct worker *worker)
{
    struct knot *knot = (struct knot *)worker->own;
    void *threads[BATCH];
    eventfd_t value;
    size_t count;

    if (eventfd_read(knot->done_fd, &value) != 0 && errno != EAGAIN)
        log_errno("cannot read the workers' wake-up");
    atomic_store(&knot->done_told, false);
    do {
        count = queue_pop(&knot->done, threads, BATCH, 1, 0, &worker->counters->lock_waits);
        for (size_t i = 0; i < count; i++)
            user_thread_resume(threads[i]);
    } while (count == BATCH);
}

/* Has a worker do what the state of the thread's connection asks for. Returns false if the queue is full. */
static bool ask_worker(struct user_thread *thread)
{
    struct knot *knot = (struct knot *)thread->scheduler;
    struct counters *counters = thread->scheduler->worker->counters;
    void *item = thread;

    counters->helper_requests++;
    if (!queue_push(&knot->jobs, &item, 1, &counters->lock_waits))
        return false;
    user_thread_sleep(thread);
    return true;
}

static enum send_outcome send_by_worker(struct user_thread *thread)
{
    struct connection *connection = &thread->own->connection;

    if (!connection->delivery.blocking &&
        delivery_is_in_memory(&connection->delivery, &connection->protocol.reply))
        return sending_pass(connection, thread->scheduler->worker->counters);
    return ask_worker(thread) ? thread->outcome : SEND_FAILED;
}

static void open_by_worker(struct user_thread *thread)
{
    ask_worker(thread); /* or else it is opened when it is needed, and waited for then */
}

static bool start_workers(struct knot *knot, struct worker *worker)
{
    for (; knot->worker_count < (unsigned)config_integer(worker->config, KNOB_WORKERS);
         knot->worker_count++) {
        struct kernel_thread *thread = malloc(sizeof(*thread));
        int error;

        if (!thread)
            return false;
        thread->knot = knot;
        thread->worker = knot->workers[knot->worker_count] = worker_new(worker, 1 + knot->worker_count);
        if (!thread->worker)
            return false;
        error = pthread_create(&knot->threads[knot->worker_count], NULL, work, thread);
        if (error != 0) {
            errno = error;
            return false;
        }
    }
    return true;
}

static void stop_workers(struct knot *knot)
{
    queue_close(&knot->jobs);
    for (unsigned i = 0; i < knot->worker_count; i++) {
        pthread_join(knot->threads[i], NULL);
        free(knot->workers[i]);
    }
}

static bool set_up(struct knot *knot, struct worker *worker)
{
    const size_t capacity = queue_connections_max();
    const size_t workers = (size_t)config_integer(worker->config, KNOB_WORKERS);

    knot->threads = calloc(workers, sizeof(*knot->threads));
    knot->workers = calloc(workers, sizeof(*knot->workers));
    knot->done_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    knot->scheduler.send = send_by_worker;
    knot->scheduler.open = open_by_worker;
    user_threads_begin(&knot->scheduler, worker, fibre_adopt_thread());
    worker->sources[worker->source_count++] = (struct worker_source){.fd = knot->done_fd, .ready = jobs_done};
    return knot->threads && knot->workers && knot->done_fd >= 0 && knot->scheduler.fibre &&
           queue_init(&knot->jobs, capacity, worker_counters(worker, 1)) &&
           queue_init(&knot->done, capacity, worker->counters) && start_workers(knot, worker);
}

static int run(struct worker *worker)
{
    static struct knot knot; /* its kernel threads use it to the end of the process */
    int exit_code;

    if (!set_up(&knot, worker)) {
        log_errno("cannot set up the threads");
        return EXIT_RUNTIME;
    }
    exit_code = event_loop_run(worker);
    stop_workers(&knot);
    user_threads_end(&knot.scheduler);
    fibre_destroy(knot.scheduler.fibre);
    queue_release(&knot.jobs);
    queue_release(&knot.done);
    free(knot.threads);
    free(knot.workers);
    return exit_code;
}

const struct architecture architecture_knot = {
    .name = "knot",
    .help = "a user-level thread for each connection, on one kernel thread; others for disks",
    .knobs = UNDERSTOOD,
    .can_be_copied = true,
    .lay_out = lay_out,
    .describe_row = describe_row,
    .driver = &user_threads_driver,
    .run = run,
};
