/*
 * See user_threads.h.
 */
#include "httpd/arch/user_threads.h"

#include "httpd/cache/file_cache.h"
#include "httpd/cache/file_open.h"
#include "httpd/connection/answer.h"
#include "httpd/connection/sending.h"
#include "httpd/connection/serving.h"
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
    char wanted[FILE_CACHE_PATH_MAX];

    (void)length;
    if (answer_would_wait(worker, connection, request, input, &own->asked, wanted) &&
        (thread->wanted = strdup(file_cache_locate(worker->cache, wanted, &thread->root))) != NULL) {
        connection_suspend(worker, connection);
        return false;
    }
    own->asked = 0;
    return true;
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

/* Sleeps until something is delivered, and returns it. */
static uint32_t await(struct user_thread *thread)
{
    uint32_t delivered;

    while (thread->delivered == 0) {
        thread->waiting = true;
        user_thread_sleep(thread);
    }
    delivered = thread->delivered;
    thread->delivered = 0;
    return delivered;
}

/* The timeout has expired, unless it has been set again meanwhile. */
static void expire(struct worker *worker, struct connection *connection)
{
    if (connection->timer.next || connection_keeps_pace(worker, connection))
        return;
    if (connection->state == SENDING)
        connection_close(worker, connection, CLOSED_BY_TIMEOUT);
    else
        serving_expired(worker, &connection->timer);
}

/* Waits until something has come, and reads it: requests, or what is not wanted any more. */
static void read_requests(struct user_thread *thread)
{
    struct worker *worker = thread->scheduler->worker;
    struct connection *connection = &thread->own->connection;
    const uint32_t delivered = await(thread);
    const uint32_t events = delivered & (EVENT_READABLE | EVENT_WRITABLE | EVENT_PEER_CLOSED);

    if (events)
        serving_run(worker, connection, events);
    if (delivered & DELIVER_EXPIRED && connection->state != CLOSED)
        expire(worker, connection);
    if (delivered & DELIVER_RETIRE && connection->state == READING)
        serving_retire(worker, &connection->timer);
}

/* Fetches the name of a file that the request needs. */
static void open_file(struct user_thread *thread)
{
    thread->scheduler->open(thread);
    free(thread->wanted);
    thread->wanted = NULL;
    serving_resume(thread->scheduler->worker, &thread->own->connection);
}

/* Waits until the reply under way may go on. Returns false when that is not yet so, or its time was over. */
static bool await_turn(struct user_thread *thread)
{
    struct connection *connection = &thread->own->connection;
    const uint32_t delivered = await(thread);

    connection->readable |= (delivered & (EVENT_READABLE | EVENT_PEER_CLOSED)) != 0;
    connection->peer_closed |= (delivered & EVENT_PEER_CLOSED) != 0;
    if (delivered & DELIVER_EXPIRED)
        expire(thread->scheduler->worker, connection);
    return delivered & (EVENT_WRITABLE | EVENT_PEER_CLOSED); /* as in serving_run() */
}

/* Sends the reply, as far as that goes without an event, and waits for the event if there is more. */
static void send_reply(struct user_thread *thread)
{
    struct connection *connection = &thread->own->connection;
    const enum send_outcome outcome = thread->scheduler->send(thread);

    serving_sent(thread->scheduler->worker, connection, outcome);
    while (connection->state == SENDING && waits_for_event(outcome) && !await_turn(thread))
        continue;
}

/* Serves a connection from its first request to its end. */
static void serve(struct user_thread *thread)
{
    const struct connection *connection = &thread->own->connection;

    while (connection->state != CLOSED) {
        read_requests(thread);
        while (connection->state == WAITING || connection->state == SENDING) {
            if (connection->state == WAITING)
                open_file(thread);
            else
                send_reply(thread);
        }
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
 * to be woken: the reply is out or has failed, or what comes next is not in memory, for which the scheduler
 * must not wait. */
static bool continue_for(struct user_thread *thread, uint32_t delivered)
{
    struct worker *worker = thread->scheduler->worker;
    struct connection *connection = &thread->own->connection;
    enum send_outcome outcome;

    if (delivered != EVENT_WRITABLE || !thread->waiting || thread->delivered || connection->state != SENDING)
        return false;
    outcome = sending_pass_resident(connection, worker->counters);
    if (!waits_for_event(outcome))
        return false; /* the thread will find the same */
    serving_sent(worker, connection, outcome);
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
    .never_waits = true,
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
