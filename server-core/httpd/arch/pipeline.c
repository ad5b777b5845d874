/*
 * The pipeline: five stages, each with threads of its own, in one address space.
 *
 *                +---------- Read Poll (1) <--- kernel: readable? <----------+
 *                |  batches of events                                        | nothing to do
 *                v                                                           |
 *   Accept ---> [queue] ---> Read: read, parse, open, prepare a reply -------+
 *   (1 for each  ^  (1 or more for     |                                     |
 *    listener)   |   each CPU)         v  batches of replies                 +---> closed
 *                |                  [queue]
 *                |                     |
 *                +------ sent ------ Write (`workers`) <--- [the same queue] <--- Write Poll (1)
 *                                      |                                             ^
 *                                      +--- socket full ---> kernel: writable? ------+
 *
 * A connection belongs to one reader, which alone keeps its timer, moves it from state to state and closes
 * it. It travels by queue, and is at any time in the hands of one thread, in one queue, or in the kernel's
 * interest set only: one word says whether it is the last of these (posting.h). So there is no lock on a
 * connection, and no queue can overflow: there are no more items than descriptors.
 *
 * CONTROL. How many of the readers and writers work, how much each takes from its queue at a time, and which
 * requests are admitted can be left to controllers, which one more thread asks (pipeline_tick.c).
 *
 * HYBRID. With `affinity` the stages that do network I/O are partitioned: each CPU in the list has `readers`
 * readers and a share of the writers, pinned, with queues of their own, and the listeners are dealt out to
 * the CPUs. Acceptors and pollers float, and the cache is shared by all.
 */
#include "httpd/arch/pipeline.h"

#include "common/affinity.h"
#include "common/clock.h"
#include "httpd/arch/architectures.h"
#include "httpd/cache/file_table.h"
#include "httpd/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static const enum knob_id UNDERSTOOD[] = {
    KNOB_SENDFILE,     KNOB_WORKERS,           KNOB_READERS,         KNOB_MAX_CONNECTIONS,
    KNOB_ACCEPT_LIMIT, KNOB_POLL_DELAY_US,     KNOB_AFFINITY,        KNOB_CACHE_ENTRIES,
    KNOB_CACHE_LOCK,   KNOB_KEEPALIVE_TIMEOUT, KNOB_REQUEST_TIMEOUT, KNOB_STAGE_THREADS,
    KNOB_STAGE_BATCH,  KNOB_ADMISSION_P90_MS,  KNOB_COUNT,
};

/* How many threads each stage has, and so where its rows of counters begin: readers, writers, the
 * two pollers, what controls readers and writers, acceptors. */
struct shape {
    unsigned partitions, readers, writers, acceptors;
};

enum { READ_POLL, WRITE_POLL, READ_CONTROL, WRITE_CONTROL, SINGLES };

static const char *const SINGLE_ROLES[SINGLES] = {[READ_POLL] = "read-poller",
                                                  [WRITE_POLL] = "write-poller",
                                                  [READ_CONTROL] = "read-controller",
                                                  [WRITE_CONTROL] = "write-controller"};

static struct shape shape_of(const struct config *config)
{
    const unsigned cpus = (unsigned)config->values[KNOB_AFFINITY].count;
    const unsigned partitions = cpus > 0 ? cpus : 1;

    return (struct shape){
        .partitions = partitions,
        .readers = partitions * (unsigned)config_integer(config, KNOB_READERS),
        .writers = (unsigned)config_integer(config, KNOB_WORKERS),
        .acceptors = (unsigned)config->values[KNOB_LISTEN].count,
    };
}

static void lay_out(const struct config *config, struct layout *layout)
{
    const struct shape shape = shape_of(config);

    *layout = (struct layout){
        .processes = 1,
        .rows = shape.readers + shape.writers + SINGLES + shape.acceptors,
        .serving = shape.readers,
        .descriptor_tables = 1,
        .listener_sets = 1,
    };
}

static struct row_description describe_row(const struct config *config, unsigned row)
{
    const struct shape shape = shape_of(config);

    if (row < shape.readers)
        return (struct row_description){.role = "reader", .cpu_position = row};
    row -= shape.readers;
    if (row < shape.writers)
        return (struct row_description){.role = "writer", .cpu_position = row};
    row -= shape.writers;
    if (row < SINGLES)
        return (struct row_description){.role = SINGLE_ROLES[row]};
    return (struct row_description){.role = "acceptor"};
}

static bool check(const struct config *config)
{
    const struct shape shape = shape_of(config);
    char sentence[128];

    if (config_integer(config, KNOB_MAX_CONNECTIONS) >= shape.acceptors)
        return true;
    snprintf(sentence, sizeof(sentence), "expected at least one for each of the %u listeners",
             shape.acceptors);
    return config_refuse(config, KNOB_MAX_CONNECTIONS, sentence);
}

static bool prepare_stage(struct pipeline *pipeline, struct stage *stage, unsigned index, unsigned row)
{
    stage->pipeline = pipeline;
    stage->index = index;
    stage->worker = row == pipeline->worker->row ? pipeline->worker : worker_new(pipeline->worker, row);
    if (!stage->worker)
        return false;
    stage->worker->own = pipeline;
    worker_refresh(stage->worker);
    return true;
}

/* A reader but the first: the first one's event set, a cache on the same table, timers of its own. */
static bool open_further_reader(struct pipeline *pipeline, struct worker *worker)
{
    worker->mechanism = pipeline->worker->mechanism;
    worker->events = pipeline->read_set;
    worker->cache = file_cache_join(worker->table, worker->row, &worker->config->hosts,
                                    &worker->config->presentation, worker->counters);
    timers_init(&worker->timers, worker->now_ns);
    return worker->cache != NULL;
}

static bool prepare_readers(struct pipeline *pipeline, size_t capacity)
{
    for (unsigned i = 0; i < pipeline->reader_count; i++) {
        struct reader *reader = &pipeline->readers[i];

        if (!prepare_stage(pipeline, &reader->stage, i, i) ||
            !queue_init(&reader->queue, capacity, reader->stage.worker->counters) ||
            (i > 0 && !open_further_reader(pipeline, reader->stage.worker)))
            return false;
        reader->write = &pipeline->write_queues[i % pipeline->partitions % pipeline->write_queue_count];
    }
    return true;
}

static bool prepare_writers(struct pipeline *pipeline, size_t capacity)
{
    for (unsigned i = 0; i < pipeline->writer_count; i++) {
        struct stage *writer = &pipeline->writers[i];

        if (!prepare_stage(pipeline, writer, i, pipeline->reader_count + i))
            return false;
        if (i < pipeline->write_queue_count &&
            !queue_init(&pipeline->write_queues[i], capacity, writer->worker->counters))
            return false;
    }
    return true;
}

static bool prepare_pollers(struct pipeline *pipeline)
{
    const unsigned row = pipeline->reader_count + pipeline->writer_count;
    struct epoll_event wake = {.events = EPOLLIN, .data.ptr = NULL};

    pipeline->write_set = epoll_create1(EPOLL_CLOEXEC);
    pipeline->write_poll_wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return pipeline->write_set >= 0 && pipeline->write_poll_wake >= 0 &&
           epoll_ctl(pipeline->write_set, EPOLL_CTL_ADD, pipeline->write_poll_wake, &wake) == 0 &&
           pipeline_watch_wake(pipeline) &&
           prepare_stage(pipeline, &pipeline->read_poll, 0, row + READ_POLL) &&
           prepare_stage(pipeline, &pipeline->write_poll, 0, row + WRITE_POLL);
}

/* Both stages are controlled by one thread, and each has a row of counters. */
static bool prepare_control(struct pipeline *pipeline)
{
    const unsigned row = pipeline->reader_count + pipeline->writer_count;
    struct stage *control = &pipeline->control;
    const bool adaptive = atomic_load(&pipeline->worker->settings->stage_threads) == STAGE_ADAPTIVE;

    pipeline->control_wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (pipeline->control_wake < 0 || !prepare_stage(pipeline, control, 0, row + READ_CONTROL) ||
        !stage_control_init(&pipeline->read_control, pipeline->partitions, pipeline->reader_count,
                            PIPELINE_BATCH, adaptive) ||
        !stage_control_init(&pipeline->write_control, pipeline->write_queue_count, pipeline->writer_count,
                            PIPELINE_WRITE_BATCH, adaptive))
        return false;
    pipeline->read_control.worker = control->worker;
    pipeline->write_control.worker = worker_new(pipeline->worker, row + WRITE_CONTROL);
    return pipeline->write_control.worker != NULL;
}

static bool prepare_acceptors(struct pipeline *pipeline)
{
    const unsigned row = pipeline->reader_count + pipeline->writer_count + SINGLES;

    for (unsigned i = 0; i < pipeline->acceptor_count; i++) {
        struct acceptor *acceptor = &pipeline->acceptors[i];

        acceptor->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (acceptor->wake_fd < 0 || !prepare_stage(pipeline, &acceptor->stage, i, row + i))
            return false;
    }
    return true;
}

/* Makes the stages, their queues and sets; nothing runs yet. */
static bool prepare_all(struct pipeline *pipeline)
{
    const struct shape shape = shape_of(pipeline->worker->config);
    const size_t capacity = queue_connections_max();

    pipeline->partitions = shape.partitions;
    pipeline->reader_count = shape.readers;
    pipeline->writer_count = shape.writers;
    pipeline->write_queue_count = shape.partitions < shape.writers ? shape.partitions : shape.writers;
    pipeline->acceptor_count = shape.acceptors;
    pipeline->poll_delay_ns =
        (uint64_t)config_integer(pipeline->worker->config, KNOB_POLL_DELAY_US) * NS_PER_US;
    pipeline->readers = calloc(shape.readers, sizeof(*pipeline->readers));
    pipeline->writers = calloc(shape.writers, sizeof(*pipeline->writers));
    pipeline->write_queues = calloc(pipeline->write_queue_count, sizeof(*pipeline->write_queues));
    pipeline->acceptors = calloc(shape.acceptors, sizeof(*pipeline->acceptors));
    return pipeline->readers && pipeline->writers && pipeline->write_queues && pipeline->acceptors &&
           prepare_readers(pipeline, capacity) && prepare_writers(pipeline, capacity) &&
           prepare_pollers(pipeline) && prepare_control(pipeline) && prepare_acceptors(pipeline);
}

static bool start(struct stage *stage, void *(*run)(void *stage))
{
    const int error = pthread_create(&stage->thread, NULL, run, stage);

    if (error == 0)
        return true;
    errno = error;
    log_errno("cannot start a thread");
    return false;
}

/* Starts all threads but that of the first reader, which is the caller. Threads inherit where the caller may
 * run: acceptors and pollers anywhere in `affinity`, the others pin themselves. */
static bool start_all(struct pipeline *pipeline)
{
    const struct knob_value *cpus = &pipeline->worker->config->values[KNOB_AFFINITY];
    bool ok = true;

    if (cpus->count > 0 && affinity_restrict(cpus->cpus, cpus->count) != 0)
        log_errno("cannot let pollers and acceptors use all CPUs of affinity");
    ok = start(&pipeline->read_poll, pipeline_read_poll) &&
         start(&pipeline->write_poll, pipeline_write_poll) && start(&pipeline->control, pipeline_control);
    for (unsigned i = 0; ok && i < pipeline->writer_count; i++)
        ok = start(&pipeline->writers[i], pipeline_write);
    for (unsigned i = 1; ok && i < pipeline->reader_count; i++)
        ok = start(&pipeline->readers[i].stage, pipeline_read);
    for (unsigned i = 0; ok && i < pipeline->acceptor_count; i++)
        ok = start(&pipeline->acceptors[i].stage, pipeline_accept);
    worker_pin(pipeline->worker);
    return ok;
}

/* Ends the stages behind the readers, which have ended. */
static void stop_all(struct pipeline *pipeline)
{
    for (unsigned i = 1; i < pipeline->reader_count; i++)
        pthread_join(pipeline->readers[i].stage.thread, NULL);
    for (unsigned i = 0; i < pipeline->write_queue_count; i++) {
        queue_close(&pipeline->write_queues[i]);
        pool_close(&pipeline->write_control.pools[i]);
    }
    for (unsigned i = 0; i < pipeline->writer_count; i++)
        pthread_join(pipeline->writers[i].thread, NULL);
    atomic_store(&pipeline->stopping, true);
    pipeline_wake(pipeline->worker->wake_fd);
    pipeline_wake(pipeline->write_poll_wake);
    pipeline_wake(pipeline->control_wake);
    pthread_join(pipeline->read_poll.thread, NULL);
    pthread_join(pipeline->write_poll.thread, NULL);
    pthread_join(pipeline->control.thread, NULL);
    for (unsigned i = 0; i < pipeline->acceptor_count; i++) {
        pipeline_wake(pipeline->acceptors[i].wake_fd);
        pthread_join(pipeline->acceptors[i].stage.thread, NULL);
    }
}

static int run(struct worker *worker)
{
    static struct pipeline pipeline; /* its threads use it to the end of the process */

    pipeline.worker = worker;
    if (shape_of(worker->config).readers > 1) {
        worker->table = file_table_create_shared(
            worker->config->root, (size_t)config_integer(worker->config, KNOB_CACHE_ENTRIES),
            config_cache_bytes(worker->config),
            (enum cache_lock)config_integer(worker->config, KNOB_CACHE_LOCK), worker->layout.serving);
        if (!worker->table) {
            log_errno("cannot make a cache for %s", config_text(worker->config, KNOB_ROOT));
            return EXIT_RUNTIME;
        }
    }
    if (!worker_open(worker))
        return EXIT_RUNTIME;
    pipeline.read_set = worker->events;
    if (!prepare_all(&pipeline)) {
        log_errno("cannot set up the stages");
        return EXIT_RUNTIME;
    }
    if (!start_all(&pipeline))
        return EXIT_RUNTIME;
    pipeline_read(&pipeline.readers[0]);
    stop_all(&pipeline);
    return EXIT_SUCCESS;
}

const struct architecture architecture_pipeline = {
    .name = "pipeline",
    .help = "stages with threads of their own: accept, read poll, read, write poll, write",
    .knobs = UNDERSTOOD,
    .can_be_copied = true,
    .check = check,
    .lay_out = lay_out,
    .describe_row = describe_row,
    .driver = &pipeline_driver,
    .run = run,
};
