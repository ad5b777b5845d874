/*
 * See sending.h.
 */
#include "httpd/connection/sending.h"

#include "common/clock.h"
#include "httpd/connection/access_log.h"
#include "httpd/http/hosts.h"
#include "httpd/log.h"

/* The reply is out. */
static void finish(struct worker *worker, struct connection *connection)
{
    worker->now_ns = clock_now_ns();
    histogram_record(worker->service_time, (worker->now_ns - connection->started_ns) / NS_PER_US);
    connection->started_ns = worker->now_ns; /* idle, unless it has asked already */
    ++*metrics_replies(worker->counters, connection->protocol.reply.status);
    connection->replying = false;
    if (connection->log_entry)
        connection_log_reply(worker, connection);
    connection_drop_reply(connection);
    if (connection->protocol.keep_alive && !worker->closing_idle) /* if it only accepts no more: as it said */
        connection->state = READING;
    else
        connection_finish(worker, connection);
}

void sending_settle(struct worker *worker, struct connection *connection, enum send_outcome outcome)
{
    int root;

    switch (outcome) {
    case SEND_COMPLETE:
        finish(worker, connection);
        return;
    case SEND_BLOCKED:
        connection_pace(worker, connection);
        connection_watch(worker, connection);
        return;
    case SEND_PAUSED:
        connection_pace(worker, connection);
        turns_append(&worker->turns, &connection->turn);
        return;
    case SEND_HELD: /* it is WAITING */
    case SEND_ELSEWHERE:
        return;
    case SEND_STALLED:
        connection_close(worker, connection, CLOSED_BY_TIMEOUT);
        return;
    case SEND_TRUNCATED:
        log_warning("/%s became shorter while it was being sent: connection closed",
                    hosts_locate(&worker->config->hosts, connection->delivery.file->path, &root));
        connection_close(worker, connection, CLOSED_BY_SERVER);
        return;
    case SEND_FAILED:
        connection_close(worker, connection, CLOSED_BY_CLIENT);
        return;
    }
}

enum send_outcome sending_leave_to_others(struct worker *worker, struct connection *connection)
{
    (void)worker;
    return reply_own_text(&connection->protocol.reply) ? SEND_ELSEWHERE : SEND_FAILED;
}

/* Has the driver send. */
static enum send_outcome drive(struct worker *worker, struct connection *connection)
{
    if (worker->driver->send)
        return worker->driver->send(worker, connection);
    return sending_pass(connection, worker->counters);
}

void sending_continue(struct worker *worker, struct connection *connection)
{
    sending_settle(worker, connection, drive(worker, connection));
}

void sending_begin(struct worker *worker, struct connection *connection)
{
    struct delivery *delivery = &connection->delivery;
    struct reply *reply = &connection->protocol.reply;
    enum send_outcome outcome;

    connection->state = SENDING;
    connection->pacing = false;
    delivery->in_crowd = worker->begun_bytes > CROWD_BYTES;
    worker->begun_bytes += (uint64_t)(reply->end - reply->offset);
    delivery_begin(delivery, reply, connection->fd, worker->sendfile, worker->contents, worker->counters);
    outcome = drive(worker, connection);
    if (outcome != SEND_ELSEWHERE && !reply_own_text(reply))
        outcome = SEND_FAILED;
    sending_settle(worker, connection, outcome);
}
