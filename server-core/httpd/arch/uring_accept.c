/*
 * The accept queue of the uring architecture: sockets that the kernel has accepted for a process, and the
 * requests that it accepts by.
 */
#include "common/clock.h"
#include "httpd/arch/uring.h"
#include "httpd/connection/accept_policy.h"
#include "httpd/log.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define MULTISHOT_ROOM 64                /* with less room connections are accepted one by one, */
#define SINGLE_MOST    128               /* of which so many are asked for */
#define BACK_OFF_NS    (100 * NS_PER_MS) /* when descriptors or memory have run out */
#define SHED_FILES     16                /* cached files closed to make room for connections */
#define LOOK_NS        NS_PER_S          /* after another worker has died, */
#define LOOK_EVERY_MS  20                /* so often */

static bool append(struct accept_queue *queue, int fd)
{
    if (queue->length == queue->capacity) {
        const size_t capacity = queue->capacity ? 2 * queue->capacity : 64;
        int *grown = malloc(capacity * sizeof(*grown));

        if (!grown)
            return false;
        for (size_t i = 0; i < queue->length; i++)
            grown[i] = queue->sockets[(queue->first + i) % queue->capacity];
        free(queue->sockets);
        queue->sockets = grown;
        queue->first = 0;
        queue->capacity = capacity;
    }
    queue->sockets[(queue->first + queue->length++) % queue->capacity] = fd;
    return true;
}

static int64_t room(const struct accept_queue *queue)
{
    const struct worker *worker = queue->worker;

    return worker->max_connections - (int64_t)worker->counters->connections_open - (int64_t)queue->length;
}

/*
 * Of a full worker, one of whose idle connections may give way: has it told who comes, and takes who has come
 * and waits still. A request to accept would take a client from a worker with a place. Being told takes it
 * from nobody: the kernel wakes one of those that accept, and all that are told. The request is cancelled
 * with the next submission, so it accepts who waits at that moment, or nobody.
 */
static void accept_who_waits(struct accept_queue *queue, size_t index)
{
    struct accepting *accepting = &queue->accepting[index];
    const int listener = queue->worker->listeners[index];

    if (!accepting->arrived) {
        accepting->watched =
            accepting->watched || uring_watch_listener(queue->uring, listener, (unsigned)index);
    } else if (uring_accept(queue->uring, listener, (unsigned)index, false)) {
        accepting->single++;
        accepting->cancelled = uring_cancel_accepts(queue->uring, (unsigned)index);
    }
}

/*
 * The kernel wakes one of the requests that wait for a client. One of a process that was killed waits until
 * the kernel has taken its ring apart, which it does in its own time: an arrival that it was told of
 * meanwhile nobody else hears of. So a worker that has just started, or been called, looks for a while
 * whether somebody waits although it has asked for clients.
 */
void accept_queue_look(struct accept_queue *queue)
{
    queue->look_until_ns = clock_now_ns() + LOOK_NS;
}

/* Says whether clients wait for whom the request to accept has not been woken. Asking anew takes them. */
static bool is_overlooked(const struct accept_queue *queue, size_t index)
{
    return queue->worker->now_ns < queue->look_until_ns &&
           accept_policy_waiting(queue->worker->listeners[index]) > 0;
}

/*
 * Returns with how many places a multishot request may stay. It takes all who wait, and clients for whom
 * there is no place then wait in our queue: with other workers at the listener, who may have places, there
 * has to be one for each that the kernel lets wait.
 */
static int64_t multishot_room(const struct accept_queue *queue, const struct accepting *accepting)
{
    const bool alone = queue->worker->layout.serving <= queue->worker->layout.parts;

    return alone || accepting->at_once < MULTISHOT_ROOM ? MULTISHOT_ROOM : accepting->at_once;
}

/*
 * Asks for connections as far as there is room for them. A multishot request may bring more than there is
 * room for, which then wait in the accept queue; so with little room it is cancelled, and as many connections
 * are asked for as there are places, but not more than SINGLE_MOST.
 */
void accept_queue_update(struct accept_queue *queue)
{
    struct worker *worker = queue->worker;
    const bool wanted = !worker->shutting_down && worker->now_ns >= queue->back_off_until_ns;
    const int64_t places = wanted ? room(queue) : 0;
    const bool recycles =
        wanted && places <= 0 && queue->length == 0 && recycling_is_possible(&queue->recycling, worker);

    for (size_t i = 0; i < worker->listener_count; i++) {
        struct accepting *accepting = &queue->accepting[i];
        const int64_t least = multishot_room(queue, accepting);

        if ((accepting->multishot || accepting->single > 0) && !accepting->cancelled &&
            ((accepting->multishot ? places < least : accepting->single > places) ||
             is_overlooked(queue, i))) {
            accepting->cancelled = uring_cancel_accepts(queue->uring, (unsigned)i);
        }
        if (accepting->cancelled || accepting->multishot)
            continue;
        if (places >= least + MULTISHOT_ROOM) {
            accepting->multishot = uring_accept(queue->uring, worker->listeners[i], (unsigned)i, true);
            continue;
        }
        while (accepting->single < places && accepting->single < SINGLE_MOST &&
               uring_accept(queue->uring, worker->listeners[i], (unsigned)i, false))
            accepting->single++;
        if (recycles)
            accept_who_waits(queue, i);
        accepting->arrived = false;
    }
}

void accept_queue_arrived(struct accept_queue *queue, const struct completion *completion)
{
    struct accepting *accepting = &queue->accepting[listener_of(completion->user_data)];

    accepting->watched = false;
    accepting->arrived = completion->result > 0;
}

void accept_queue_completed(struct accept_queue *queue, const struct completion *completion)
{
    struct accepting *accepting = &queue->accepting[listener_of(completion->user_data)];

    if (!(completion->flags & IORING_CQE_F_MORE)) {
        if (accepting->single > 0)
            accepting->single--;
        else
            accepting->multishot = false;
        if (accepting->single == 0 && !accepting->multishot)
            accepting->cancelled = false;
    }
    if (completion->result >= 0) {
        if (!append(queue, completion->result))
            close(completion->result);
        return;
    }
    switch (-completion->result) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
        errno = -completion->result;
        if (queue->worker->now_ns >= queue->back_off_until_ns)
            log_errno("cannot accept connections (trying again every %d ms)", (int)(BACK_OFF_NS / NS_PER_MS));
        queue->back_off_until_ns = queue->worker->now_ns + BACK_OFF_NS;
        file_cache_shed(queue->worker->cache, SHED_FILES);
        break;
    default: /* cancelled, or the connection was lost before we got to it (accept(2)) */
        break;
    }
}

static bool is_full(const struct worker *worker)
{
    return (int64_t)worker->counters->connections_open >= worker->max_connections;
}

/* Says whether a connection is to be taken out. When all is to end what is left is closed, like the kernel's
 * queue: a connection that was opened now would not be retired. */
static bool may_open(const struct accept_queue *queue)
{
    const struct worker *worker = queue->worker;

    return queue->length > 0 && !worker->closing_idle && !is_full(worker);
}

bool accept_queue_wants_places(const struct accept_queue *queue)
{
    return queue->length > 0 && !queue->worker->closing_idle && is_full(queue->worker) &&
           queue->worker->now_ns >= queue->recycling.again_ns;
}

void accept_queue_make_places(struct accept_queue *queue, void (*retire)(void *user, struct timer *timer),
                              void *user)
{
    struct worker *worker = queue->worker;
    struct connection *connection;

    while ((int64_t)(worker->counters->connections_open + queue->length) > worker->max_connections &&
           (connection = recycle_choose(worker, NULL, NULL)) != NULL)
        retire(user, &connection->timer);
    recycling_look(&queue->recycling, worker);
}

void accept_queue_serve(struct accept_queue *queue, unsigned work_count)
{
    struct worker *worker = queue->worker;
    int64_t limit = worker->accept_limit;
    int64_t accepted = 0;

    if (limit == KNOB_AUTO) /* the queue is ours and grows as it must */
        limit = accept_policy_balance((uint32_t)queue->length, UINT32_MAX, work_count);
    if (!may_open(queue))
        return;
    worker->counters->accept_phases++;
    while (accepted < limit && may_open(queue)) {
        const int fd = queue->sockets[queue->first];

        queue->first = (queue->first + 1) % queue->capacity;
        queue->length--;
        accepted++;
        worker->counters->accept_calls++;
        /* The socket is in blocking mode, or the kernel would not wait for it; nobody calls it directly. */
        connection_open(worker, fd, false);
    }
}

bool accept_queue_is_over(const struct accept_queue *queue)
{
    for (size_t i = 0; i < queue->worker->listener_count; i++) {
        if (queue->accepting[i].multishot || queue->accepting[i].single > 0)
            return false;
    }
    return queue->length == 0;
}

int accept_queue_wait_ms(const struct accept_queue *queue)
{
    const struct worker *worker = queue->worker;
    uint64_t until_ns = queue->back_off_until_ns;

    if (may_open(queue))
        return 0; /* accept_limit left some in the queue */
    if (queue->length > 0 && !worker->closing_idle && worker->now_ns >= queue->recycling.again_ns)
        return 0; /* others may give way */
    if (is_full(worker) && until_ns <= worker->now_ns)
        until_ns = queue->recycling.again_ns;
    if (until_ns > worker->now_ns) {
        const int until_ms = (int)((until_ns - worker->now_ns) / NS_PER_MS) + 1;

        return worker->now_ns < queue->look_until_ns && until_ms > LOOK_EVERY_MS ? LOOK_EVERY_MS : until_ms;
    }
    return worker->now_ns < queue->look_until_ns ? LOOK_EVERY_MS : -1;
}

bool accept_queue_open(struct accept_queue *queue, struct worker *worker, struct uring *uring)
{
    *queue = (struct accept_queue){.worker = worker, .uring = uring};
    queue->accepting = calloc(worker->listener_count, sizeof(*queue->accepting));
    if (!queue->accepting)
        return false;
    for (size_t i = 0; i < worker->listener_count; i++)
        queue->accepting[i].at_once = accept_policy_backlog(worker->listeners[i]);
    accept_queue_look(queue);
    return true;
}

void accept_queue_close(struct accept_queue *queue)
{
    for (; queue->length > 0; queue->length--) {
        close(queue->sockets[queue->first]);
        queue->first = (queue->first + 1) % queue->capacity;
    }
    free(queue->sockets);
    free(queue->accepting);
}
