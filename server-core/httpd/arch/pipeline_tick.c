/*
 * The controlling thread of the pipeline: every CONTROL_TICK_MS it looks at the queues of Read and Write and
 * has their controllers decide. Where all sizes are fixed it sleeps until the settings change.
 */
#include "httpd/arch/pipeline.h"

#include "common/clock.h"
#include "httpd/log.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>

void pipeline_note_entry(const struct pipeline *pipeline, struct pipeline_connection *connection)
{
    if (atomic_load(&pipeline->worker->settings->admission_p90_ms) != KNOB_OFF)
        atomic_store(&connection->entered_ns, clock_now_ns());
}

void pipeline_note_exit(struct admission *admission, struct pipeline_connection *connection)
{
    const uint64_t entered_ns = atomic_load(&connection->entered_ns);

    if (entered_ns == 0)
        return;
    atomic_store(&connection->entered_ns, 0);
    admission_note_wait(admission, entered_ns);
}

/* A reader that is not active gets no new connections, but serves those that it has. */
static struct pool_tick look_at_readers(void *user, unsigned partition)
{
    struct pipeline *pipeline = user;
    const unsigned active = atomic_load(&pipeline->read_control.pools[partition].active);
    struct counters *counters = pipeline->read_control.worker->counters;
    struct pool_tick tick = {0};

    for (unsigned i = partition; i < pipeline->reader_count; i += pipeline->partitions) {
        const struct queue_look look = queue_look(&pipeline->readers[i].queue, &counters->lock_waits);

        tick.taken += look.taken;
        tick.waiting += look.waiting;
        tick.idle += look.waiters > 0 && i / pipeline->partitions < active;
    }
    return tick;
}

static struct pool_tick look_at_writers(void *user, unsigned queue)
{
    struct pipeline *pipeline = user;
    struct counters *counters = pipeline->write_control.worker->counters;
    const struct queue_look look = queue_look(&pipeline->write_queues[queue], &counters->lock_waits);

    return (struct pool_tick){.taken = look.taken, .waiting = look.waiting, .idle = look.waiters};
}

/* Sleeps until the next tick is due or the settings have changed. Returns false if it cannot. */
static bool sleep_until(const struct pipeline *pipeline, uint64_t due_ns)
{
    struct pollfd polled = {.fd = pipeline->control_wake, .events = POLLIN};
    const uint64_t now_ns = clock_now_ns();
    int timeout_ms = -1;
    eventfd_t value;

    if (stage_control_wanted(pipeline->worker->settings))
        timeout_ms = due_ns > now_ns ? (int)((due_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS) : 0;
    if (poll(&polled, 1, timeout_ms) < 0 && errno != EINTR) {
        log_errno("cannot wait for the next tick");
        return false;
    }
    if (polled.revents && eventfd_read(pipeline->control_wake, &value) != 0 && errno != EAGAIN)
        log_errno("cannot read the wake-up");
    return true;
}

void *pipeline_control(void *argument)
{
    struct stage *stage = argument;
    struct pipeline *pipeline = stage->pipeline;
    const uint64_t tick_ns = CONTROL_TICK_MS * NS_PER_MS;
    uint64_t then_ns = clock_now_ns() - tick_ns;

    do {
        const uint64_t now_ns = clock_now_ns();

        /* A change of the settings is obeyed at the end of the tick that is under way. */
        if (now_ns - then_ns < tick_ns && stage_control_wanted(stage->worker->settings))
            continue;
        if (now_ns == then_ns)
            continue;
        stage_control_tick(&pipeline->read_control, now_ns - then_ns, look_at_readers, pipeline);
        stage_control_tick(&pipeline->write_control, now_ns - then_ns, look_at_writers, pipeline);
        then_ns = now_ns;
    } while (!atomic_load(&pipeline->stopping) && sleep_until(pipeline, then_ns + tick_ns));
    return NULL;
}
