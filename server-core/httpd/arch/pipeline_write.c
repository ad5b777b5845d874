/*
 * Stage 5 of the pipeline, Write: `workers` threads that send what readers have prepared.
 *
 * With non-blocking sendfile a writer takes a share of the queue, and a reply whose socket is full goes to
 * Write Poll, which brings it back here until it is out; one whose peer takes it as fast as it is sent goes to
 * the end of the queue after each pass (reply.h). With blocking sendfile a writer takes one reply and
 * is held by it to the last byte. In both a disk read holds one writer and nobody else.
 */
#include "httpd/arch/pipeline.h"

#include "httpd/log.h"
#include "httpd/reply.h"

#define BATCH 64

/* Sends; returns true if the connection is to go back to its reader. One that could go on goes to the end of
 * the `queue`. */
static bool send_reply(struct stage *stage, struct queue *queue, struct connection *connection)
{
    void *item = connection;

    connection->outcome = (uint8_t)reply_send(connection, stage->worker->counters);
    if (connection->outcome == SEND_PAUSED && queue_push(queue, &item, 1, &stage->worker->counters->lock_waits))
        return false;
    if (connection->outcome != SEND_BLOCKED && connection->outcome != SEND_PAUSED)
        return true;
    if (pipeline_await_writable(stage->pipeline, connection))
        return false;
    log_errno("cannot watch a connection");
    connection->outcome = SEND_FAILED;
    return true;
}

/* Brings connections back to the readers that they belong to. */
static void give_back(struct pipeline *pipeline, void **connections, size_t count, uint64_t *lock_waits)
{
    for (unsigned reader = 0; reader < pipeline->reader_count; reader++) {
        void *batch[BATCH];
        size_t length = 0;

        for (size_t i = 0; i < count; i++) {
            if (((struct connection *)connections[i])->home == reader)
                batch[length++] = connections[i];
        }
        if (!queue_push(&pipeline->readers[reader].queue, batch, length, lock_waits))
            log_line("the queue of reader %u is full: connections lost", reader);
    }
}

void *pipeline_write(void *argument)
{
    struct stage *stage = argument;
    struct pipeline *pipeline = stage->pipeline;
    struct worker *worker = stage->worker;
    struct queue *queue = &pipeline->write_queues[stage->index % pipeline->write_queue_count];
    const unsigned writers =
        (pipeline->writer_count + pipeline->write_queue_count - 1) / pipeline->write_queue_count;
    void *connections[BATCH], *sent[BATCH];
    size_t count;

    worker_pin(worker);
    do {
        const bool blocking = atomic_load(&worker->settings->sendfile) == SENDFILE_BLOCKING;
        size_t sent_count = 0;

        count =
            queue_pop(queue, connections, blocking ? 1 : BATCH, writers, -1, &worker->counters->lock_waits);
        for (size_t i = 0; i < count; i++) {
            if (send_reply(stage, queue, connections[i]))
                sent[sent_count++] = connections[i];
        }
        give_back(pipeline, sent, sent_count, &worker->counters->lock_waits);
    } while (count > 0);
    return NULL;
}
