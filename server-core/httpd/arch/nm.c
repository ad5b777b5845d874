/*
 * N:M: N user threads, one for each connection, on M = `workers` processors, each run by a kernel thread.
 *
 *   processor 0: event loop = scheduler <---> user threads      processor M-1: ...
 *        ^  readiness in batches                  |  open, sendfile
 *        |                                        v
 *   kernel thread  <--- another one, if this one has been blocked for a millisecond
 *
 * Descriptors do not block: a user thread that has to wait for a socket sleeps at user level, and the event
 * loop of its processor learns of readiness for all of them at once. Where the kernel may block all the same,
 * in looking up names that it does not know and in reading and sending what is not in memory, the processor
 * changes its kernel thread (nm_processors.h). A connection stays with the processor that accepted it; the
 * cache is shared by all.
 *
 * `large_transfer` says who sends what did not fit the socket at first: the scheduler, on its own stack,
 * until the reply is out or something is not in memory (`continuation`), or the user thread, which is
 * switched to each time (`thread`).
 *
 * With one worker this is N user threads on one kernel thread, with as many workers as max_connections one
 * kernel thread for each user thread.
 */
#include "httpd/arch/architectures.h"
#include "httpd/arch/nm_processors.h"
#include "httpd/cache/file_table.h"
#include "httpd/connection/sending.h"
#include "httpd/log.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>

static const enum knob_id UNDERSTOOD[] = {
    KNOB_SENDFILE,          KNOB_WORKERS,         KNOB_MAX_CONNECTIONS, KNOB_ACCEPT_LIMIT,
    KNOB_AFFINITY,          KNOB_LARGE_TRANSFER,  KNOB_CACHE_ENTRIES,   KNOB_CACHE_LOCK,
    KNOB_KEEPALIVE_TIMEOUT, KNOB_REQUEST_TIMEOUT, KNOB_COUNT,
};

static void lay_out(const struct config *config, struct layout *layout)
{
    const unsigned workers = (unsigned)config_integer(config, KNOB_WORKERS);

    *layout = (struct layout){
        .processes = 1,
        .rows = workers,
        .serving = workers,
        .descriptor_tables = 1,
        .connection_mappings = USER_THREAD_MAPPINGS,
        .listener_sets = 1,
    };
}

static struct row_description describe_row(const struct config *config, unsigned row)
{
    (void)config;
    return (struct row_description){.role = "processor", .cpu_position = row};
}

/* How the reply of a user thread is sent: by itself. Meanwhile others may count where the processor counts,
 * so the call has counters of its own. */
static enum send_outcome send_here(struct user_thread *thread)
{
    struct processor *processor = (struct processor *)thread->scheduler;
    struct counters *counters = thread->scheduler->worker->counters;
    struct counters own = {0};
    const uint64_t call = processor_enter(processor);
    const enum send_outcome outcome = sending_pass(&thread->own->connection, &own);

    processor_leave(processor, call);
    counters->bytes_sent += own.bytes_sent;
    counters->sendfile_calls += own.sendfile_calls;
    counters->sendfile_partial += own.sendfile_partial;
    counters->write_calls += own.write_calls;
    counters->write_partial += own.write_partial;
    counters->contents_evictions += own.contents_evictions;
    counters->lock_waits += own.lock_waits;
    counters->kernel_threads_added += atomic_exchange(&processor->added, 0);
    return outcome;
}

static void open_here(struct user_thread *thread)
{
    struct processor *processor = (struct processor *)thread->scheduler;
    const uint64_t call = processor_enter(processor);

    user_thread_open(thread);
    processor_leave(processor, call);
}

static void returning(struct worker *worker)
{
    processor_let_return((struct processor *)worker->own);
}

/* Prepares a processor with the worker of row `row`. */
static bool prepare_processor(struct processor *processor, const struct worker *like, unsigned row)
{
    struct worker *worker = worker_new(like, row);

    if (!worker)
        return false;
    worker->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    worker->sources[worker->source_count++] =
        (struct worker_source){.fd = processor->returning_fd, .ready = returning};
    processor->scheduler.send = send_here;
    processor->scheduler.open = open_here;
    processor->scheduler.continuations =
        config_integer(worker->config, KNOB_LARGE_TRANSFER) == LARGE_TRANSFER_CONTINUATION;
    user_threads_begin(&processor->scheduler, worker, processor->loop);
    return worker->wake_fd >= 0;
}

static bool start_all(struct processors *processors, struct worker *process)
{
    static int *wake_fds; /* to the end of the process */

    wake_fds = calloc(processors->count, sizeof(*wake_fds));
    if (!wake_fds)
        return false;
    process->wake_fds = wake_fds;
    for (unsigned i = 0; i < processors->count; i++) {
        if (!prepare_processor(&processors->all[i], process, i))
            return false;
        wake_fds[i] = processors->all[i].scheduler.worker->wake_fd;
    }
    for (unsigned i = 0; i < processors->count; i++) {
        if (!processor_start(&processors->all[i]))
            return false;
    }
    return processors_watch(processors);
}

/* Hands the master's wake-up on to all processors, until all have ended; their ends wake us too. */
static void hand_on_wake_ups(struct processors *processors, int wake_fd)
{
    struct pollfd polled = {.fd = wake_fd, .events = POLLIN};
    eventfd_t value;

    while (processors_running(processors) > 0) {
        if (poll(&polled, 1, -1) < 0 && errno != EINTR)
            log_errno("cannot poll");
        if (eventfd_read(wake_fd, &value) != 0 && errno != EAGAIN)
            log_errno("cannot read the wake-up");
        for (unsigned i = 0; i < processors->count; i++)
            eventfd_write(processors->all[i].scheduler.worker->wake_fd, 1);
    }
}

static int run(struct worker *worker)
{
    static struct processors processors;
    const unsigned count = worker->layout.serving;
    int exit_code;

    worker->table = file_table_create_shared(
        worker->config->root, (size_t)config_integer(worker->config, KNOB_CACHE_ENTRIES),
        config_cache_bytes(worker->config), (enum cache_lock)config_integer(worker->config, KNOB_CACHE_LOCK),
        count);
    if (!worker->table) {
        log_errno("cannot make a cache for %s", config_text(worker->config, KNOB_ROOT));
        return EXIT_RUNTIME;
    }
    if (!processors_open(&processors, count, worker->wake_fd) || !start_all(&processors, worker)) {
        log_errno("cannot start the threads");
        return EXIT_RUNTIME;
    }
    hand_on_wake_ups(&processors, worker->wake_fd);
    exit_code = processors_close(&processors);
    return exit_code;
}

const struct architecture architecture_nm = {
    .name = "nm",
    .help = "user-level threads, one for each connection, on several kernel threads",
    .knobs = UNDERSTOOD,
    .can_be_copied = true,
    .lay_out = lay_out,
    .describe_row = describe_row,
    .driver = &user_threads_driver,
    .run = run,
};
