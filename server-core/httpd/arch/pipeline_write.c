/*
 * Stage 5 of the pipeline, Write: `workers` threads that send what readers have prepared.
 *
 * With non-blocking sendfile a writer takes a share of the queue, and a reply whose socket is full goes to
 * Write Poll, which brings it back here until it is out. Replies that have
 * begun go on one by one, each a pass at a time (turns.h), after those that come new. With blocking sendfile
 * a writer takes one reply and is held by it to the last byte. In both a disk read holds one writer and
 * nobody else.
 */
#include "httpd/arch/pipeline.h"

#include "httpd/connection/sending.h"
#include "httpd/log.h"

/* Sends; returns true if the connection is to go back to its reader. */
static bool send_reply(struct stage *stage, struct turns *turns, struct connection *connection)
{
    struct pipeline_connection *own = (struct pipeline_connection *)connection;

    pipeline_note_exit(&stage->pipeline->write_control.admission, own);
    own->outcome = (uint8_t)sending_pass(connection, stage->worker->counters);
    if (own->outcome == SEND_PAUSED)
        turns_append(turns, &connection->turn);
    if (own->outcome != SEND_BLOCKED)
        return own->outcome != SEND_PAUSED;
    if (pipeline_await_writable(stage->pipeline, own))
        return false;
    log_errno("cannot watch a connection");
    own->outcome = SEND_FAILED;
    return true;
}

/* Sends what has come from the queue, but for what has begun before, and goes on with one of these. Returns
 * how many of the connections are to go back to their readers, and moves these to `sent`. */
static size_t send_batch(struct stage *stage, struct turns *turns, void **connections, size_t count,
                         void **sent)
{
    size_t sent_count = 0;
    struct turn *turn;

    for (size_t i = 0; i < count; i++) {
        struct connection *connection = connections[i];

        if (connection->delivery.begun)
            turns_append(turns, &connection->turn);
        else if (send_reply(stage, turns, connection))
            sent[sent_count++] = connection;
    }
    turn = turns_take(turns);
    if (turn && send_reply(stage, turns, connection_of_turn(turn)))
        sent[sent_count++] = connection_of_turn(turn);
    return sent_count;
}

/* Brings connections back to the readers that they belong to. */
static void give_back(struct pipeline *pipeline, void **connections, size_t count, uint64_t *lock_waits)
{
    for (unsigned reader = 0; reader < pipeline->reader_count; reader++) {
        void *batch[PIPELINE_WRITE_BATCH + 1];
        size_t length = 0;

        for (size_t i = 0; i < count; i++) {
            if (((struct pipeline_connection *)connections[i])->home == reader)
                batch[length++] = connections[i];
        }
        if (!queue_push(&pipeline->readers[reader].queue, batch, length, lock_waits))
            log_error("the queue of reader %u is full: connections lost", reader);
    }
}

void *pipeline_write(void *argument)
{
    struct stage *stage = argument;
    struct pipeline *pipeline = stage->pipeline;
    struct worker *worker = stage->worker;
    struct queue *queue = &pipeline->write_queues[stage->index % pipeline->write_queue_count];
    struct pool *pool = &pipeline->write_control.pools[stage->index % pipeline->write_queue_count];
    void *connections[PIPELINE_WRITE_BATCH], *sent[PIPELINE_WRITE_BATCH + 1];
    struct turns turns = {0};
    bool open;

    worker_pin(worker);
    do {
        const bool blocking = atomic_load(&worker->settings->sendfile) == SENDFILE_BLOCKING;
        const bool going_on = turns.first != NULL;
        size_t count;

        if (!going_on)
            pool_await_call(pool, stage->index / pipeline->write_queue_count);
        count = queue_pop(queue, connections, blocking ? 1 : atomic_load(&pool->batch),
                          atomic_load(&pool->active), going_on ? 0 : -1, &worker->counters->lock_waits);
        open = count > 0 || going_on;
        give_back(pipeline, sent, send_batch(stage, &turns, connections, count, sent),
                  &worker->counters->lock_waits);
    } while (open);
    return NULL;
}
