/*
 * See user_threads.h.
 */
#include "httpd/arch/user_threads.h"

#include "httpd/cache/file_cache.h"
#include "httpd/cache/file_open.h"
#include "httpd/connection/sending.h"
#include "httpd/http/request.h"
#include "httpd/log.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SPARE_THREADS 64 /* kept for connections to come */

/* Ends free threads as long as there are more than `spare`. */
static void free_threads(struct user_scheduler *scheduler, unsigned spare)
{
    while (scheduler->free_count > spare) {
        struct user_thread *thread = scheduler->free;

        scheduler->free = thread->next_free;
        scheduler->free_count--;
        fibre_destroy(thread->fibre);
        free(thread);
    }
}

void user_thread_sleep(struct user_thread *thread)
{
    fibre_switch(thread->fibre, thread->scheduler->fibre);
}

void user_thread_resume(struct user_thread *thread)
{
    struct user_scheduler *scheduler = thread->scheduler;

    scheduler->worker->counters->user_switches++;
    thread->waiting = false;
    fibre_switch(scheduler->fibre, thread->fibre);
    free_threads(scheduler, SPARE_THREADS);
}

/* For the driver: whether a request can be served without waiting for a file to be opened. */
static bool admit(struct worker *worker, struct connection *connection, const struct request *request,
                  const char *input, size_t length)
{
    struct user_connection *own = (struct user_connection *)connection;
    struct user_thread *thread = own->thread;
    const bool opened_now = own->opened;
    char path[HOST_KEY_MAX], wanted[FILE_CACHE_PATH_MAX];

    (void)length;
    own->opened = false;
    if (opened_now || hosts_key(&worker->config->hosts, request, input, path) < 0 ||
        !file_cache_would_wait(worker->cache, path, wanted))
        return true;
    thread->wanted = strdup(file_cache_locate(worker->cache, wanted, &thread->root));
    if (!thread->wanted)
        return true;
    connection_suspend(worker, connection);
    return false;
}

void user_thread_open(const struct user_thread *thread)
{
    const int fd = file_open_beneath(thread->root, thread->wanted);
    struct stat status;

    if (fd < 0)
        return; /* it will fail again, and then the client is told */
    (void)!fstat(fd, &status);
    close(fd);
}

/* Says whether the connection is reported when it can, or may, go on after such an outcome. */
static bool waits_for_event(enum send_outcome outcome)
{
    return outcome == SEND_BLOCKED || outcome == SEND_PAUSED;
}

/* Does what may wait for a disk until nothing is left to do, it is others' turn or the connection has ended.
 */
static void go_on(struct user_thread *thread)
{
    struct worker *worker = thread->scheduler->worker;
    struct connection *connection = &thread->own->connection;
    enum send_outcome outcome = SEND_COMPLETE;

    while (connection->state == WAITING || (connection->state == SENDING && !waits_for_event(outcome))) {
        if (connection->state == SENDING) {
            outcome = thread->scheduler->send(thread);
            connection_sent(worker, connection, outcome);
        } else {
            thread->scheduler->open(thread);
            free(thread->wanted);
            thread->wanted = NULL;
            thread->own->opened = true;
            connection_resume(worker, connection);
        }
    }
}

/* The timeout has expired, unless it has been set again meanwhile. */
static void expire(struct worker *worker, struct connection *connection)
{
    if (connection->timer.next || connection_keeps_pace(worker, connection))
        return;
    if (connection->state == SENDING)
        connection_close(worker, connection, CLOSED_BY_TIMEOUT);
    else
        connection_expired(worker, &connection->timer);
}

/* Acts on what was delivered. */
static void act(struct user_thread *thread, uint32_t delivered)
{
    struct worker *worker = thread->scheduler->worker;
    struct connection *connection = &thread->own->connection;
    const uint32_t events = delivered & (EVENT_READABLE | EVENT_WRITABLE | EVENT_PEER_CLOSED);
    const bool was_sending = connection->state == SENDING;

    if (events && was_sending) {
        connection->readable |= (events & (EVENT_READABLE | EVENT_PEER_CLOSED)) != 0;
        connection->peer_closed |= (events & EVENT_PEER_CLOSED) != 0;
        if (events & (EVENT_WRITABLE | EVENT_PEER_CLOSED)) /* as in connection_run() */
            go_on(thread);
    } else if (events) {
        connection_run(worker, connection, events);
    }
    if (delivered & DELIVER_EXPIRED && connection->state != CLOSED)
        expire(worker, connection);
    if (delivered & DELIVER_RETIRE && connection->state == READING)
        connection_retire(worker, &connection->timer);
    if (!was_sending)
        go_on(thread);
}

static void serve(struct user_thread *thread)
{
    while (thread->own->connection.state != CLOSED) {
        uint32_t delivered;

        while (thread->delivered == 0) {
            thread->waiting = true;
            user_thread_sleep(thread);
        }
        delivered = thread->delivered;
        thread->delivered = 0;
        act(thread, delivered);
    }
}

static void run(void *argument)
{
    struct user_thread *thread = argument;
    struct user_scheduler *scheduler = thread->scheduler;

    for (;;) {
        serve(thread);
        thread->own->thread = NULL;
        thread->own = NULL;
        thread->delivered = 0;
        thread->next_free = scheduler->free;
        scheduler->free = thread;
        scheduler->free_count++;
        user_thread_sleep(thread);
    }
}

static struct user_thread *make_thread(struct user_scheduler *scheduler)
{
    struct user_thread *thread = calloc(1, sizeof(*thread));

    if (!thread)
        return NULL;
    thread->fibre = fibre_create(run, thread);
    if (!thread->fibre) {
        free(thread);
        return NULL;
    }
    thread->scheduler = scheduler;
    return thread;
}

/* Gives a connection the thread that will serve it. Returns NULL when there is no memory. */
static struct user_thread *assign(struct user_scheduler *scheduler, struct user_connection *own)
{
    struct user_thread *thread = scheduler->free;

    if (thread) {
        scheduler->free = thread->next_free;
        scheduler->free_count--;
    } else {
        thread = make_thread(scheduler);
    }
    if (thread) {
        thread->own = own;
        thread->waiting = true;
        own->thread = thread;
    }
    return thread;
}

/* Goes on with a reply for a thread that waits until the socket takes more. Returns false if the thread has
 * to be woken, for the reply is out or has failed. */
static bool continue_for(struct user_thread *thread, uint32_t delivered)
{
    struct worker *worker = thread->scheduler->worker;
    struct connection *connection = &thread->own->connection;
    enum send_outcome outcome;

    if (delivered != EVENT_WRITABLE || !thread->waiting || thread->delivered || connection->state != SENDING)
        return false;
    outcome = sending_pass(connection, NULL, worker->counters);
    if (!waits_for_event(outcome))
        return false; /* the thread will find the same */
    connection_sent(worker, connection, outcome);
    return true;
}

static void deliver(struct worker *worker, struct connection *connection, uint32_t what)
{
    struct user_scheduler *scheduler = worker->own;
    struct user_connection *own = (struct user_connection *)connection;
    struct user_thread *thread = own->thread;

    if (connection->state == CLOSED) /* while others ran that were before it in this turn */
        return;
    if (!thread)
        thread = assign(scheduler, own);
    if (!thread) {
        log_errno("no memory for a thread");
        connection_close(worker, connection, CLOSED_BY_SERVER);
        return;
    }
    if (scheduler->continuations && continue_for(thread, what))
        return;
    thread->delivered |= what;
    if (thread->waiting)
        user_thread_resume(thread);
}

const struct driver user_threads_driver = {
    .connection_bytes = sizeof(struct user_connection),
    .fresh_bytes = sizeof(struct user_connection),
    .admit = admit,
    .send = sending_leave_to_others, /* to the connection's thread, when it has left the connection's code */
    .deliver = deliver,
};

void user_threads_begin(struct user_scheduler *scheduler, struct worker *worker, struct fibre *fibre)
{
    scheduler->worker = worker;
    scheduler->fibre = fibre;
    worker->own = scheduler;
}

void user_threads_end(struct user_scheduler *scheduler)
{
    free_threads(scheduler, 0);
}
