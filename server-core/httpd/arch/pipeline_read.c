/*
 * Stage 3 of the pipeline, Read: reads from connections, parses requests, opens files and prepares replies;
 * Write sends them, and brings the connection back for the next request. Everything else about a connection
 * happens here too, in the one reader to which it belongs: its timer, its end, its place in memory.
 *
 * A whole batch is worked on before the replies go to Write together: readers and writers take turns on the
 * CPU instead of interleaving (cohort scheduling).
 */
#include "httpd/arch/pipeline.h"

#include "common/clock.h"
#include "httpd/connection/answer.h"
#include "httpd/connection/recycle.h"
#include "httpd/connection/sending.h"
#include "httpd/connection/serving.h"
#include "httpd/log.h"

#include <stdlib.h>
#include <sys/socket.h>

#define SHED_FILES 16 /* cached files closed to make room for connections */

/* Its structures stay with the reader that has made them. */
static struct connection *allocate(struct worker *worker)
{
    struct pipeline_connection *chunk = calloc(CONNECTIONS_PER_CHUNK, sizeof(*chunk));

    for (size_t i = 0; chunk && i < CONNECTIONS_PER_CHUNK; i++)
        chunk[i].home = worker->row;
    return (struct connection *)chunk;
}

/* Where admission is controlled both stages that a request goes through must have room for it. */
static bool admit(struct worker *worker, struct connection *connection, const struct request *request,
                  const char *input, size_t length)
{
    struct pipeline *pipeline = worker->own;

    if (atomic_load(&worker->settings->admission_p90_ms) == KNOB_OFF ||
        (admission_take(&pipeline->read_control.admission, worker->now_ns) &&
         admission_take(&pipeline->write_control.admission, worker->now_ns)))
        return true;
    answer_refused(worker, connection, &(struct feed){.request = *request, .bytes = input, .length = length});
    return false;
}

/* Replies wait in `replies` until the reader is done with their connections. */
const struct driver pipeline_driver = {
    .connection_bytes = sizeof(struct pipeline_connection),
    .fresh_bytes = offsetof(struct pipeline_connection, posting),
    .allocate = allocate,
    .admit = admit,
    .send = sending_leave_to_others,
};

static void hand_over_replies(struct reader *reader)
{
    if (!queue_push(reader->write, reader->replies, reader->reply_count,
                    &reader->stage.worker->counters->lock_waits))
        log_error("the queue of the writers is full: connections lost");
    reader->reply_count = 0;
}

/* Lets go of a connection that the reader holds: to Write if there is a reply, to the interest set if there
 * is nothing to do for it, or for good. Until then it runs. */
static void dispose(struct reader *reader, struct pipeline_connection *own)
{
    struct worker *worker = reader->stage.worker;
    struct connection *connection = &own->connection;

    for (;;) {
        uint32_t flags;

        if (worker->closing_idle && connection_is_idle(connection))
            serving_retire(worker, &connection->timer);
        if (connection->state == SENDING) {
            connection_pace(worker, connection);
            pipeline_note_entry(reader->stage.pipeline, own);
            reader->replies[reader->reply_count++] = own;
            if (reader->reply_count == PIPELINE_BATCH)
                hand_over_replies(reader);
            return;
        }
        if (connection->state == CLOSED) {
            posting_close(&own->posting);
            pipeline_release_quota(reader->stage.pipeline, own->listener);
            return;
        }
        if (posting_let_go(&own->posting, &flags))
            return;
        serving_run(worker, connection, flags);
    }
}

/* A reply has been sent, or not. */
static void take_back(struct reader *reader, struct pipeline_connection *own)
{
    struct worker *worker = reader->stage.worker;

    if (own->expired && own->outcome == SEND_FAILED)
        connection_close(worker, &own->connection, CLOSED_BY_TIMEOUT);
    else
        serving_sent(worker, &own->connection, own->outcome);
    dispose(reader, own);
}

static void open_connection(struct reader *reader, int fd, uint16_t listener)
{
    struct worker *worker = reader->stage.worker;
    struct connection *connection = connection_open(worker, fd, worker->sendfile == SENDFILE_BLOCKING);
    struct pipeline_connection *own = (struct pipeline_connection *)connection;

    if (!connection) {
        pipeline_release_quota(reader->stage.pipeline, listener);
        return;
    }
    own->listener = listener;
    posting_open(&own->posting);
    serving_run(worker, connection, EVENT_READABLE); /* it may have asked already */
    dispose(reader, own);
}

static void work(struct reader *reader, void *item)
{
    struct pipeline_connection *own = item;

    if (item == ITEM_LOOK)
        return;
    if (item_is_socket(item)) {
        open_connection(reader, item_socket(item), item_listener(item));
        return;
    }
    pipeline_note_exit(&reader->stage.pipeline->read_control.admission, own);
    if (!posting_take(&own->posting, own->connection.state == CLOSED))
        return; /* the event was under way when the connection was closed */
    if (own->connection.state == SENDING)
        take_back(reader, own);
    else
        dispose(reader, own);
}

/* If the peer has taken too little of its reply, cuts the socket off, whereupon Write Poll and Write bring
 * the connection back. Who waits for a writer is not to blame; and a blocking send has a timeout of its own.
 */
static void expired_while_sending(struct worker *worker, struct pipeline_connection *own)
{
    struct connection *connection = &own->connection;
    const bool blocked = atomic_load(&own->blocked);

    if (blocked && connection_keeps_pace(worker, connection))
        return;
    if (blocked && !own->expired) {
        own->expired = true;
        shutdown(connection->fd, SHUT_RDWR);
    }
    timers_set(&worker->timers, &connection->timer, worker->now_ns + worker->request_timeout_ns);
}

static void expired(void *user, struct timer *timer)
{
    struct reader *reader = user;
    struct worker *worker = reader->stage.worker;
    struct pipeline_connection *own = (struct pipeline_connection *)connection_of_timer(timer);

    if (own->connection.state == SENDING) {
        expired_while_sending(worker, own);
    } else if (posting_seize(&own->posting)) {
        serving_expired(worker, timer);
        dispose(reader, own);
    } else {
        /* It is in the queue of this reader: see first what has happened to it. */
        timers_set(&worker->timers, timer, worker->now_ns);
    }
}

/* Looks at a connection because the server is to shut down. */
static void retire(void *user, struct timer *timer)
{
    struct reader *reader = user;
    struct pipeline_connection *own = (struct pipeline_connection *)connection_of_timer(timer);

    if (own->connection.state == READING && posting_seize(&own->posting)) {
        serving_retire(reader->stage.worker, timer);
        dispose(reader, own);
    }
}

static bool came_from(const struct connection *connection, const void *listener)
{
    return ((const struct pipeline_connection *)connection)->listener == *(const unsigned *)listener;
}

/* Closes an idle connection for each acceptor that wants a place, if this reader has one. */
static void recycle(struct reader *reader)
{
    struct pipeline *pipeline = reader->stage.pipeline;

    for (unsigned i = 0; i < pipeline->acceptor_count; i++) {
        struct acceptor *acceptor = &pipeline->acceptors[i];
        struct connection *connection =
            atomic_load(&acceptor->recycling) ? recycle_choose(reader->stage.worker, came_from, &i) : NULL;

        if (connection && atomic_exchange(&acceptor->recycling, false))
            retire(reader, &connection->timer);
    }
}

/* Says whether a reader has nothing more to do: the server is to end, and no connection is open or on its way
 * here. */
static bool is_over(struct reader *reader)
{
    const struct pipeline *pipeline = reader->stage.pipeline;
    const struct worker *worker = reader->stage.worker;

    if (!worker->shutting_down || worker->counters->connections_open > 0)
        return false;
    for (unsigned i = 0; i < pipeline->acceptor_count; i++) {
        if (!atomic_load(&pipeline->acceptors[i].over))
            return false;
    }
    return queue_is_empty(&reader->queue);
}

void *pipeline_read(void *argument)
{
    struct reader *reader = argument;
    struct pipeline *pipeline = reader->stage.pipeline;
    struct worker *worker = reader->stage.worker;
    struct pool *pool = &pipeline->read_control.pools[reader->stage.index % pipeline->partitions];
    void *items[PIPELINE_BATCH];

    if (worker != pipeline->worker)
        worker_pin(worker);
    while (!is_over(reader)) {
        const size_t count =
            queue_pop(&reader->queue, items, atomic_load(&pool->batch), 1,
                      timers_wait_ms(&worker->timers, worker->now_ns), &worker->counters->lock_waits);

        worker_refresh(worker);
        for (size_t i = 0; i < count; i++)
            work(reader, items[i]);
        if (atomic_exchange(&pipeline->shed_wanted, false))
            file_cache_shed(worker->cache, SHED_FILES);
        recycle(reader);
        timers_expire(&worker->timers, worker->now_ns, expired, reader);
        if (worker->closing_idle) /* in every turn, for sockets that were accepted before may still come */
            timers_for_each(&worker->timers, retire, reader);
        hand_over_replies(reader);
    }
    return NULL;
}
