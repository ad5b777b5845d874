/*
 * Stage 1 of the pipeline, Accept: one thread for each listener, which has its own share of max_connections,
 * so that one network cannot take the places of another. It accepts in phases of up to accept_limit
 * connections and deals them out to the readers of its partition.
 */
#include "httpd/arch/pipeline.h"

#include "common/clock.h"
#include "httpd/log.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define BATCH       64
#define BACK_OFF_MS 100 /* when descriptors, memory or places have run out */

static int64_t quota(const struct acceptor *acceptor)
{
    const struct worker *worker = acceptor->stage.worker;

    return config_share(worker_connections_in_all(worker), acceptor->stage.pipeline->acceptor_count,
                        acceptor->stage.index);
}

void pipeline_release_quota(struct pipeline *pipeline, unsigned listener)
{
    struct acceptor *acceptor = &pipeline->acceptors[listener];

    atomic_fetch_sub(&acceptor->connections, 1);
    if (atomic_exchange(&acceptor->full, false))
        pipeline_wake(acceptor->wake_fd);
}

/* Says whether there is room for another connection; if not, whoever makes room wakes the acceptor. */
static bool has_room(struct acceptor *acceptor)
{
    if (atomic_load(&acceptor->connections) < quota(acceptor))
        return true;
    atomic_store(&acceptor->full, true);
    /* Room that was made before the flag was up has woken nobody. */
    return atomic_load(&acceptor->connections) < quota(acceptor);
}

/* Which reader gets the next connection of this listener: with as many listeners as partitions each network
 * stays with one CPU, with fewer the connections go round. */
static unsigned choose_reader(const struct acceptor *acceptor, uint64_t turn)
{
    const struct pipeline *pipeline = acceptor->stage.pipeline;
    const unsigned partitions = pipeline->partitions;
    unsigned partition = acceptor->stage.index % partitions;

    if (pipeline->acceptor_count < partitions) {
        partition = (unsigned)(turn % partitions);
        turn /= partitions;
    }
    return partition +
           (unsigned)(turn % atomic_load(&pipeline->read_control.pools[partition].active)) * partitions;
}

/* Hands accepted sockets to a reader. */
static void hand_over(struct acceptor *acceptor, void *const *items, size_t count, uint64_t turn)
{
    struct pipeline *pipeline = acceptor->stage.pipeline;
    struct counters *counters = acceptor->stage.worker->counters;

    if (queue_push(&pipeline->readers[choose_reader(acceptor, turn)].queue, items, count,
                   &counters->lock_waits))
        return;
    for (size_t i = 0; i < count; i++)
        close(item_socket(items[i]));
    atomic_fetch_sub(&acceptor->connections, (int64_t)count);
    counters->connections_accepted += count;
    counters->connections_closed_by_server += count;
    log_error("the queue of a reader is full: %zu connections closed", count);
}

/* One accept phase. Returns for how many ms to leave the listener alone. */
static int accept_phase(struct acceptor *acceptor, int listener, uint64_t *turn)
{
    struct worker *worker = acceptor->stage.worker;
    const int flags = SOCK_CLOEXEC | (worker->sendfile == SENDFILE_BLOCKING ? 0 : SOCK_NONBLOCK);
    int64_t accepted = 0;
    int fd = 0;

    worker->counters->accept_phases++;
    while (fd >= 0 && accepted < worker->accept_limit && has_room(acceptor)) {
        void *items[BATCH];
        size_t count = 0;

        while (count < BATCH && accepted < worker->accept_limit && has_room(acceptor)) {
            fd = accept4(listener, NULL, NULL, flags);
            worker->counters->accept_calls++;
            if (fd < 0)
                break;
            items[count++] = item_of_socket(fd, acceptor->stage.index);
            atomic_fetch_add(&acceptor->connections, 1);
            accepted++;
        }
        if (count > 0)
            hand_over(acceptor, items, count, (*turn)++);
    }
    if (fd >= 0 || (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM))
        return 0;
    log_errno("cannot accept connections (trying again every %d ms)", BACK_OFF_MS);
    atomic_store(&acceptor->stage.pipeline->shed_wanted, true);
    pipeline_wake_reader(acceptor->stage.pipeline, 0, &worker->counters->lock_waits);
    return BACK_OFF_MS;
}

/* A client waits and all places are taken: has the first reader that can do it close an idle connection. */
static void ask_for_place(struct acceptor *acceptor)
{
    struct pipeline *pipeline = acceptor->stage.pipeline;

    atomic_store(&acceptor->recycling, true);
    for (unsigned i = 0; i < pipeline->reader_count; i++)
        pipeline_wake_reader(pipeline, i, &acceptor->stage.worker->counters->lock_waits);
}

/* Readers may end when all acceptors have said so, and they have opened what is on its way to them. */
static void end_accepting(struct acceptor *acceptor)
{
    struct pipeline *pipeline = acceptor->stage.pipeline;

    if (atomic_exchange(&acceptor->over, true))
        return;
    for (unsigned i = 0; i < pipeline->reader_count; i++)
        pipeline_wake_reader(pipeline, i, &acceptor->stage.worker->counters->lock_waits);
}

void *pipeline_accept(void *stage)
{
    struct acceptor *acceptor = stage;
    struct pipeline *pipeline = acceptor->stage.pipeline;
    struct worker *worker = acceptor->stage.worker;
    const int listener = worker->listeners[acceptor->stage.index];
    struct pollfd polled[2] = {{.fd = acceptor->wake_fd, .events = POLLIN}, {.events = POLLIN}};
    int back_off_ms = 0;
    uint64_t turn = 0;
    uint64_t drained;

    while (!atomic_load(&pipeline->stopping)) {
        const bool listening = !worker->shutting_down && back_off_ms == 0;
        int count;

        polled[1].fd = listening ? listener : -1;
        count = poll(polled, 2, back_off_ms > 0 ? back_off_ms : -1);
        worker->counters->event_calls++;
        if (count < 0 && errno != EINTR) {
            log_errno("cannot poll a listener");
            break;
        }
        worker->counters->events_returned += count > 0 ? (uint64_t)count : 0;
        if (polled[0].revents && read(acceptor->wake_fd, &drained, sizeof(drained)) < 0 && errno != EAGAIN)
            log_errno("cannot read the wake-up");
        worker_refresh(worker);
        back_off_ms = 0;
        if (worker->shutting_down)
            end_accepting(acceptor);
        if (!listening || !polled[1].revents || worker->shutting_down)
            continue;
        if (has_room(acceptor)) {
            back_off_ms = accept_phase(acceptor, listener, &turn);
        } else {
            ask_for_place(acceptor);
            back_off_ms = BACK_OFF_MS; /* or until a place has become free */
        }
    }
    end_accepting(acceptor);
    return NULL;
}
