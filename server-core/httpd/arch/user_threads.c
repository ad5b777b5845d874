/*
 * See user_threads.h.
 */
#include "httpd/arch/user_threads.h"

#include "httpd/arch/event_loop.h"
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
    thread->received = 0;
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

void user_thread_open(const struct user_thread *thread)
{
    const int fd = file_open_beneath(thread->root, thread->wanted);
    struct stat status;

    if (fd < 0)
        return; /* it will fail again, and then the client is told */
    (void)!fstat(fd, &status);
    close(fd);
}

/* --- waiting --- */

/* Sleeps until something is delivered. */
static void sleep_until_told(struct user_thread *thread)
{
    struct connection *connection = &thread->own->connection;

    while (thread->delivered == 0) {
        thread->waiting = true;
        user_thread_sleep(thread);
    }
    connection->readable |= (thread->delivered & (EVENT_READABLE | EVENT_PEER_CLOSED)) != 0;
    connection->peer_closed |= (thread->delivered & EVENT_PEER_CLOSED) != 0;
}

/* The same, and returns what was delivered. */
static uint32_t await(struct user_thread *thread)
{
    uint32_t delivered;

    sleep_until_told(thread);
    delivered = thread->delivered;
    thread->delivered = 0;
    return delivered;
}

/* Says whether what was delivered means that the connection's time is over: that the timeout has not been set
 * again since, and the peer has not done enough to get more time. */
static bool is_over(struct user_thread *thread, uint32_t delivered)
{
    struct connection *connection = &thread->own->connection;

    return delivered & DELIVER_EXPIRED && !connection->timer.next &&
           !connection_keeps_pace(thread->scheduler->worker, connection);
}

/* --- reading --- */

/* Waits for more of a request, when what came last, of which `*delivered` tells, is no reason to end the
 * connection. Returns false when it has ended. */
static bool await_request(struct user_thread *thread, uint32_t *delivered)
{
    struct worker *worker = thread->scheduler->worker;
    struct connection *connection = &thread->own->connection;

    if (is_over(thread, *delivered)) {
        if (connection->protocol.input)
            answer_timeout(worker, connection);
        connection_close(worker, connection, CLOSED_BY_TIMEOUT);
        return false;
    }
    if (*delivered & DELIVER_RETIRE && connection_is_idle(connection) &&
        serving_may_retire(worker, connection)) {
        connection_close(worker, connection, CLOSED_BY_SERVER);
        return false;
    }
    if (connection->readable) /* others have their turn */
        connection_rearm(worker, connection);
    else
        connection_watch(worker, connection);
    serving_await_request(worker, connection);
    *delivered = await(thread);
    connection->readable |=
        (*delivered & (DELIVER_EXPIRED | DELIVER_RETIRE)) != 0; /* who has asked is served */
    return true;
}

/* Keeps the bytes that are left in memory of the connection. Returns false when there is none; then it has
 * ended. */
static bool keep(struct user_thread *thread, struct feed *feed)
{
    struct connection *connection = &thread->own->connection;
    const bool kept = protocol_keep(&connection->protocol, feed);

    if (!kept)
        connection_close(thread->scheduler->worker, connection, CLOSED_BY_SERVER);
    *feed = (struct feed){0};
    return kept;
}

/* Looks in the bytes at hand for a request, and reads until there is a whole one. Returns false when the
 * connection has ended. */
static bool read_request(struct user_thread *thread, struct feed *feed)
{
    struct worker *worker = thread->scheduler->worker;
    struct connection *connection = &thread->own->connection;
    uint32_t delivered = 0;

    while (!protocol_next(feed)) {
        if (!keep(thread, feed))
            return false;
        if (connection->readable && thread->received < INPUT_BYTES)
            thread->received += connection_receive(worker, connection, feed);
        else if (!await_request(thread, &delivered))
            return false;
        if (connection->state == CLOSED)
            return false;
    }
    return true;
}

/* --- looking up --- */

/* Has each name that the request needs, and the kernel does not have in its cache, looked up by whoever may
 * wait for that. Returns false when the connection has ended. */
static bool look_up(struct user_thread *thread, struct feed *feed)
{
    struct worker *worker = thread->scheduler->worker;
    struct user_connection *own = thread->own;
    struct connection *connection = &own->connection;
    char wanted[FILE_CACHE_PATH_MAX];

    while (answer_would_wait(worker, connection, &feed->request, feed->bytes, &own->asked, wanted)) {
        thread->wanted = strdup(file_cache_locate(worker->cache, wanted, &thread->root));
        if (!thread->wanted)
            break; /* then it is waited for when it is opened */
        if (!keep(thread, feed))
            return false;
        connection_suspend(worker, connection);
        thread->scheduler->open(thread);
        free(thread->wanted);
        thread->wanted = NULL;
        connection->state = READING;
        protocol_feed_kept(&connection->protocol, feed);
        protocol_next(feed); /* the same request */
    }
    own->asked = 0;
    return true;
}

/* --- sending --- */

/* For the driver: sends what the server has in memory here and now. All else is sent when the text of the
 * reply, which is in memory of the worker, has been copied: the thread may have to sleep. */
static enum send_outcome send_or_leave(struct worker *worker, struct connection *connection)
{
    struct user_thread *thread = ((struct user_connection *)connection)->thread;
    const bool here = !connection->delivery.blocking &&
                      delivery_is_in_memory(&connection->delivery, &connection->protocol.reply);

    thread->outcome =
        here ? sending_pass(connection, worker->counters) : sending_leave_to_others(worker, connection);
    return thread->outcome;
}

/* Waits until the reply under way may go on. */
static void await_turn(struct user_thread *thread)
{
    struct connection *connection = &thread->own->connection;
    uint32_t delivered;

    do {
        delivered = await(thread);
        if (is_over(thread, delivered))
            connection_close(thread->scheduler->worker, connection, CLOSED_BY_TIMEOUT);
    } while (connection->state == SENDING &&
             !(delivered & (EVENT_WRITABLE | EVENT_PEER_CLOSED))); /* as in serving_run() */
}

static bool waits_for_event(enum send_outcome outcome)
{
    return outcome == SEND_BLOCKED || outcome == SEND_PAUSED;
}

/* Sends what answer_request() has not sent, which has settled its own attempt. */
static void send_reply(struct user_thread *thread)
{
    struct connection *connection = &thread->own->connection;

    while (connection->state == SENDING) {
        if (waits_for_event(thread->outcome))
            await_turn(thread);
        if (connection->state != SENDING)
            break;
        thread->outcome = thread->scheduler->send(thread);
        sending_settle(thread->scheduler->worker, connection, thread->outcome);
    }
}

/* Reads what the peer still sends after its last reply. */
static void linger(struct user_thread *thread)
{
    struct worker *worker = thread->scheduler->worker;
    struct connection *connection = &thread->own->connection;

    while (connection->state == LINGERING) {
        if (is_over(thread, await(thread)))
            connection_close(worker, connection, CLOSED_BY_SERVER);
        else
            connection_discard(worker, connection);
    }
}

/* --- the thread --- */

/* Accepts the connection that it is to serve. Returns false if there is none, or it is gone already. */
static bool accept_own(struct user_thread *thread)
{
    struct user_scheduler *scheduler = thread->scheduler;
    struct connection *connection;

    scheduler->accept_goes_on =
        event_loop_accept(scheduler->accept_loop, scheduler->accept_listener, &connection);
    thread->own = (struct user_connection *)connection;
    if (!connection)
        return false;
    thread->own->thread = thread;
    sleep_until_told(thread); /* others are accepted first */
    thread->delivered &= DELIVER_EXPIRED | DELIVER_RETIRE;
    return true;
}

/* Serves its connection to the end. */
static void serve(struct user_thread *thread)
{
    struct connection *connection = &thread->own->connection;
    struct feed feed = {0};

    while (read_request(thread, &feed) && (feed.request.status != 0 || look_up(thread, &feed))) {
        answer_request(thread->scheduler->worker, connection, &feed);
        protocol_step(&feed);
        if (connection->state == READING)
            continue; /* the reply is out, and the bytes behind the request are there still */
        if (connection->state != SENDING)
            protocol_forget(&feed);
        else if (!keep(thread, &feed))
            return;
        send_reply(thread);
        linger(thread);
        if (connection->state == CLOSED)
            return;
        feed = (struct feed){0};
        protocol_feed_kept(&connection->protocol, &feed);
    }
}

static void run(void *argument)
{
    struct user_thread *thread = argument;
    struct user_scheduler *scheduler = thread->scheduler;

    for (;;) {
        if (accept_own(thread)) {
            serve(thread);
            thread->own->thread = NULL;
        }
        thread->own = NULL;
        thread->delivered = 0;
        thread->next_free = scheduler->free;
        scheduler->free = thread;
        scheduler->free_count++;
        user_thread_sleep(thread);
    }
}

/* --- the scheduler --- */

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

/* Has a thread accept. */
static bool accept_by_thread(struct worker *worker, struct event_loop *loop, int listener)
{
    struct user_scheduler *scheduler = worker->own;
    struct user_thread *thread = scheduler->free;

    if (thread) {
        scheduler->free = thread->next_free;
        scheduler->free_count--;
    } else {
        thread = make_thread(scheduler);
    }
    if (!thread) {
        event_loop_back_off(loop, "no memory for a thread");
        return false;
    }
    scheduler->accept_loop = loop;
    scheduler->accept_listener = listener;
    user_thread_resume(thread);
    return scheduler->accept_goes_on;
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
    sending_settle(worker, connection, outcome);
    return true;
}

static void deliver(struct worker *worker, struct connection *connection, uint32_t what)
{
    struct user_scheduler *scheduler = worker->own;
    struct user_thread *thread = ((struct user_connection *)connection)->thread;

    if (connection->state == CLOSED) /* while others ran that were before it in this turn */
        return;
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
    .accept = accept_by_thread,
    .send = send_or_leave,
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
