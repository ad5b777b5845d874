/*
 * Stages 2 and 4 of the pipeline, Read Poll and Write Poll: one thread each, which does nothing but wait for
 * events and put the connections that they are about into the queue of the next stage, a batch at a time.
 *
 * Their interest sets live in the kernel: other stages add to them (epoll_ctl) without waking them. A poll
 * soon after the last one finds little, and costs as much as one that finds a lot; with poll_delay_us each
 * waits a little before it polls.
 */
#include "httpd/arch/pipeline.h"

#include "common/clock.h"
#include "httpd/log.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define EVENTS_MAX 1024
#define TAG_WAKE   UINT64_C(1)

void pipeline_wake(int fd)
{
    /* It fails only when it is readable already. */
    (void)!eventfd_write(fd, 1);
}

bool pipeline_watch_wake(struct pipeline *pipeline)
{
    const struct worker *worker = pipeline->worker;

    return worker->mechanism->add_connection(pipeline->read_set, worker->wake_fd, TAG_WAKE) == 0;
}

void pipeline_wake_reader(struct pipeline *pipeline, unsigned reader, uint64_t *lock_waits)
{
    void *const item = ITEM_LOOK;

    /* A full queue is a reader that will look anyhow. */
    queue_push(&pipeline->readers[reader].queue, &item, 1, lock_waits);
}

static void drain(int fd)
{
    eventfd_t value;

    if (eventfd_read(fd, &value) != 0 && errno != EAGAIN)
        log_errno("cannot read the wake-up");
}

static void delay(const struct pipeline *pipeline)
{
    const struct timespec pause = {
        .tv_sec = (time_t)(pipeline->poll_delay_ns / NS_PER_S),
        .tv_nsec = (long)(pipeline->poll_delay_ns % NS_PER_S),
    };

    if (pipeline->poll_delay_ns > 0)
        nanosleep(&pause, NULL);
}

/* The settings have changed: has everybody look at them who cares. */
static void spread_the_word(struct pipeline *pipeline, uint64_t *lock_waits)
{
    for (unsigned i = 0; i < pipeline->reader_count; i++)
        pipeline_wake_reader(pipeline, i, lock_waits);
    for (unsigned i = 0; i < pipeline->acceptor_count; i++)
        pipeline_wake(pipeline->acceptors[i].wake_fd);
    pipeline_wake(pipeline->control_wake);
}

/* Puts what the events are about into the readers' queues. `batch` has room for `count`. */
static void distribute(struct pipeline *pipeline, const struct event *events, int count, void **batch,
                       uint64_t *lock_waits)
{
    for (unsigned reader = 0; reader < pipeline->reader_count; reader++) {
        size_t length = 0;

        for (int i = 0; i < count; i++) {
            struct pipeline_connection *connection =
                (struct pipeline_connection *)connection_of_tag(events[i].tag);

            if (events[i].tag == TAG_WAKE || connection->home != reader)
                continue;
            if (!posting_report(&connection->posting, events[i].flags))
                continue;
            pipeline_note_entry(pipeline, connection);
            batch[length++] = connection;
        }
        if (!queue_push(&pipeline->readers[reader].queue, batch, length, lock_waits))
            log_error("the queue of reader %u is full: events lost", reader);
    }
}

void *pipeline_read_poll(void *argument)
{
    struct stage *stage = argument;
    struct pipeline *pipeline = stage->pipeline;
    struct counters *counters = stage->worker->counters;
    const struct event_mechanism *mechanism = pipeline->worker->mechanism;
    struct event events[EVENTS_MAX];
    void *batch[EVENTS_MAX];

    while (!atomic_load(&pipeline->stopping)) {
        int count;

        delay(pipeline);
        count = mechanism->wait(pipeline->read_set, events, EVENTS_MAX, -1);
        counters->event_calls++;
        if (count < 0) {
            log_errno("cannot wait for events");
            break;
        }
        counters->events_returned += (uint64_t)count;
        for (int i = 0; i < count; i++) {
            if (events[i].tag == TAG_WAKE) {
                drain(pipeline->worker->wake_fd);
                spread_the_word(pipeline, &counters->lock_waits);
            }
        }
        distribute(pipeline, events, count, batch, &counters->lock_waits);
    }
    return NULL;
}

bool pipeline_await_writable(struct pipeline *pipeline, struct pipeline_connection *connection)
{
    struct epoll_event event = {.events = EPOLLOUT | EPOLLONESHOT, .data.ptr = connection};
    const int operation = connection->in_write_set ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

    connection->in_write_set = true;
    atomic_store(&connection->blocked, true);
    return epoll_ctl(pipeline->write_set, operation, connection->connection.fd, &event) == 0;
}

/* Puts connections into the writers' queue of their reader. */
static void distribute_writable(struct pipeline *pipeline, struct epoll_event *events, int count,
                                void **batch, uint64_t *lock_waits)
{
    for (unsigned i = 0; i < pipeline->write_queue_count; i++) {
        size_t length = 0;

        for (int j = 0; j < count; j++) {
            struct pipeline_connection *connection = events[j].data.ptr;

            if (connection && pipeline->readers[connection->home].write == &pipeline->write_queues[i]) {
                atomic_store(&connection->blocked, false);
                batch[length++] = connection;
            }
        }
        if (!queue_push(&pipeline->write_queues[i], batch, length, lock_waits))
            log_error("the queue of the writers is full: connections lost");
    }
}

void *pipeline_write_poll(void *argument)
{
    struct stage *stage = argument;
    struct pipeline *pipeline = stage->pipeline;
    struct counters *counters = stage->worker->counters;
    struct epoll_event events[EVENTS_MAX];
    void *batch[EVENTS_MAX];

    while (!atomic_load(&pipeline->stopping)) {
        int count;

        delay(pipeline);
        count = epoll_wait(pipeline->write_set, events, EVENTS_MAX, -1);
        counters->event_calls++;
        if (count < 0 && errno != EINTR) {
            log_errno("cannot wait for events");
            break;
        }
        counters->events_returned += count > 0 ? (uint64_t)count : 0;
        distribute_writable(pipeline, events, count, batch, &counters->lock_waits);
    }
    return NULL;
}
