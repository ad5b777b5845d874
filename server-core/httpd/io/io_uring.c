/*
 * io_uring(7), used for readiness: each connection has a multishot IORING_OP_POLL_ADD.
 *
 * A poll request of this kind stays and posts a completion with every wake-up of the socket, so it reports
 * edges as epoll-et does. The ring is shared with the kernel: what is to be added, removed or asked again is
 * put into it without a system call and submitted by the next wait, which is the only call of a turn.
 *
 * Listeners have a poll that reports once, is added again by the next wait if it fired, and looks at the
 * present state when it is added; so they are reported for as long as they are ready. EPOLLEXCLUSIVE has an
 * arrival wake one worker, as in epoll.c.
 *
 * GENERATIONS. A request holds the socket open, so closing a connection must remove its requests. Completions
 * that are in the ring already would then be taken for those of the next connection with that descriptor;
 * they are told apart by a generation that grows with each use of the descriptor and travels in user_data.
 */
#include "httpd/io/mechanisms.h"

#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define SUBMISSIONS 256
#define COMPLETIONS 4096
#define PLACES_MIN  64

/* What user_data says beside the descriptor (low 32 bits) and the generation (30 bits). */
#define FOR_WRITING (UINT64_C(1) << 62)
#define IGNORED     (UINT64_C(1) << 63) /* the completion of a removal */

#define GENERATION_MASK UINT32_C(0x3FFFFFFF)

/* What is watched under a descriptor. */
struct place {
    uint64_t tag;
    uint32_t generation; /* 0: nothing is watched */
    uint32_t interest;
    bool listener, fired;
};

struct event_set {
    struct io_uring ring;
    struct place *places; /* by descriptor */
    size_t count;
    uint32_t generation; /* the last one given */
    int listeners[64];   /* that have to be added again */
    unsigned fired;      /* how many of these */
};

static uint64_t user_data(int fd, uint32_t generation)
{
    return (uint64_t)(generation & GENERATION_MASK) << 32 | (uint32_t)fd;
}

/* Returns NULL with errno when the kernel does not take what the ring holds. */
static struct io_uring_sqe *next_submission(struct event_set *set)
{
    struct io_uring_sqe *submission = io_uring_get_sqe(&set->ring);
    int result;

    if (submission)
        return submission;
    result = io_uring_submit(&set->ring);
    if (result < 0)
        errno = -result;
    return result < 0 ? NULL : io_uring_get_sqe(&set->ring);
}

static int open_ring(struct io_uring *ring, unsigned submissions, unsigned completions)
{
    struct io_uring_params params = {
        .flags = IORING_SETUP_CQSIZE | IORING_SETUP_COOP_TASKRUN,
        .cq_entries = completions,
    };
    int result = io_uring_queue_init_params(submissions, ring, &params);

    if (result == -EINVAL) { /* before 5.19 */
        params = (struct io_uring_params){.flags = IORING_SETUP_CQSIZE, .cq_entries = completions};
        result = io_uring_queue_init_params(submissions, ring, &params);
    }
    if (result < 0)
        errno = -result;
    return result < 0 ? -1 : 0;
}

static const char *unavailable(void)
{
    static char sentence[160];
    struct io_uring ring;

    if (open_ring(&ring, 4, 8) != 0) {
        snprintf(sentence, sizeof(sentence), "the kernel refuses io_uring_setup: %s%s", strerror(errno),
                 errno == EPERM ? " (see kernel.io_uring_disabled)" : "");
        return sentence;
    }
    /* Multishot polls came with 5.13, and so did this feature. */
    snprintf(sentence, sizeof(sentence), "the kernel lacks multishot poll requests (Linux 5.13)");
    const bool lacking = !(ring.features & IORING_FEAT_RSRC_TAGS) || !(ring.features & IORING_FEAT_EXT_ARG);
    io_uring_queue_exit(&ring);
    return lacking ? sentence : NULL;
}

static struct event_set *create(void)
{
    struct event_set *set = calloc(1, sizeof(*set));

    if (set && open_ring(&set->ring, SUBMISSIONS, COMPLETIONS) != 0) {
        free(set);
        return NULL;
    }
    return set;
}

static void destroy(struct event_set *set)
{
    io_uring_queue_exit(&set->ring);
    free(set->places);
    free(set);
}

/* Asks for one or, with IORING_POLL_ADD_MULTI, all wake-ups of a descriptor. */
static int submit_poll(struct event_set *set, int fd, uint64_t data, uint32_t events, uint32_t flags)
{
    struct io_uring_sqe *submission = next_submission(set);

    if (!submission)
        return -1;
    io_uring_prep_poll_add(submission, fd, events);
    submission->len = flags;
    io_uring_sqe_set_data64(submission, data);
    return 0;
}

static int submit_removal(struct event_set *set, uint64_t data)
{
    struct io_uring_sqe *submission = next_submission(set);

    if (!submission)
        return -1;
    io_uring_prep_poll_remove(submission, data);
    io_uring_sqe_set_data64(submission, IGNORED);
    return 0;
}

static int poll_reading(struct event_set *set, int fd)
{
    const struct place *place = &set->places[fd];

    if (place->listener)
        return submit_poll(set, fd, user_data(fd, place->generation), POLLIN | EPOLLEXCLUSIVE, 0);
    return submit_poll(set, fd, user_data(fd, place->generation), POLLIN | POLLRDHUP, IORING_POLL_ADD_MULTI);
}

static int poll_writing(struct event_set *set, int fd)
{
    return submit_poll(set, fd, user_data(fd, set->places[fd].generation) | FOR_WRITING, POLLOUT,
                       IORING_POLL_ADD_MULTI);
}

static int add(struct event_set *set, int fd, uint64_t tag, bool listener)
{
    if ((size_t)fd >= set->count) {
        size_t count = set->count ? set->count : PLACES_MIN;
        struct place *places;

        while (count <= (size_t)fd)
            count *= 2;
        places = realloc(set->places, count * sizeof(*places));
        if (!places)
            return -1;
        memset(places + set->count, 0, (count - set->count) * sizeof(*places));
        set->places = places;
        set->count = count;
    }
    set->generation = (set->generation + 1) & GENERATION_MASK;
    if (set->generation == 0)
        set->generation = 1;
    set->places[fd] = (struct place){
        .tag = tag, .generation = set->generation, .interest = EVENT_READABLE, .listener = listener};
    return poll_reading(set, fd);
}

static int add_listener(struct event_set *set, int fd, uint64_t tag)
{
    return add(set, fd, tag, true);
}

static int add_connection(struct event_set *set, int fd, uint64_t tag)
{
    return add(set, fd, tag, false);
}

/* At once: who looks at the queue afterwards must not be told of what comes later. */
static int remove_listener(struct event_set *set, int fd)
{
    struct place *place = &set->places[fd];
    const uint32_t generation = place->generation;
    int result;

    place->generation = 0;
    if (submit_removal(set, user_data(fd, generation)) != 0)
        return -1;
    result = io_uring_submit(&set->ring);
    if (result < 0)
        errno = -result;
    return result < 0 ? -1 : 0;
}

static void remove_connection(struct event_set *set, int fd)
{
    struct place *place = &set->places[fd];

    submit_removal(set, user_data(fd, place->generation));
    if (place->interest & EVENT_WRITABLE)
        submit_removal(set, user_data(fd, place->generation) | FOR_WRITING);
    place->generation = 0;
}

static int watch(struct event_set *set, int fd, uint64_t tag, uint32_t interest)
{
    struct place *place = &set->places[fd];

    place->tag = tag;
    if (!(interest & EVENT_WRITABLE) || (place->interest & EVENT_WRITABLE))
        return 0;
    place->interest |= EVENT_WRITABLE;
    return poll_writing(set, fd);
}

/* A request that is removed and added looks at the present state. */
static int rearm(struct event_set *set, int fd, uint64_t tag, uint32_t interest)
{
    struct place *place = &set->places[fd];

    (void)interest;
    place->tag = tag;
    if (submit_removal(set, user_data(fd, place->generation)) != 0)
        return -1;
    return poll_reading(set, fd);
}

/* Turns a completion into an event. Returns false when it says nothing. */
static bool take(struct event_set *set, const struct io_uring_cqe *completion, struct event *event)
{
    const int fd = (int)(uint32_t)completion->user_data;
    const uint32_t generation = (uint32_t)(completion->user_data >> 32) & GENERATION_MASK;
    const int ready = completion->res;
    const struct place *place;

    if (completion->user_data & IGNORED || (size_t)fd >= set->count)
        return false;
    place = &set->places[fd];
    if (place->generation != generation || ready == -ECANCELED)
        return false;
    if (place->listener) {
        set->places[fd].fired = true;
        set->listeners[set->fired++] = fd;
    } else if (!(completion->flags & IORING_CQE_F_MORE)) /* the ring was full, or the like */
        completion->user_data &FOR_WRITING ? poll_writing(set, fd) : poll_reading(set, fd);
    event->tag = place->tag;
    event->flags = (ready < 0 || ready & POLLIN ? EVENT_READABLE : 0) |
                   (ready > 0 && ready & POLLOUT ? EVENT_WRITABLE : 0) |
                   (ready < 0 || ready & (POLLRDHUP | POLLHUP | POLLERR) ? EVENT_PEER_CLOSED : 0);
    return true;
}

static int wait_events(struct event_set *set, struct event *events, int size, int timeout_ms)
{
    const unsigned fired_max = sizeof(set->listeners) / sizeof(*set->listeners);
    struct __kernel_timespec timeout = {.tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * 1000000L};
    struct io_uring_cqe *completion;
    unsigned seen = 0;
    unsigned head;
    int count = 0;
    int result;

    for (; set->fired > 0; set->fired--) {
        const int fd = set->listeners[set->fired - 1];

        if (set->places[fd].generation == 0 || !set->places[fd].fired) /* removed, or added again since */
            continue;
        set->places[fd].fired = false;
        if (poll_reading(set, fd) != 0)
            return -1;
    }
    result = timeout_ms < 0 ? io_uring_submit_and_wait(&set->ring, 1)
                            : io_uring_submit_and_wait_timeout(&set->ring, &completion, 1, &timeout, NULL);
    if (result < 0 && result != -ETIME && result != -EINTR && result != -EBUSY && result != -EAGAIN) {
        errno = -result;
        return -1;
    }
    io_uring_for_each_cqe(&set->ring, head, completion)
    {
        if (count == size || set->fired == fired_max)
            break;
        seen++;
        count += take(set, completion, &events[count]);
    }
    io_uring_cq_advance(&set->ring, seen);
    return count;
}

const struct event_mechanism event_mechanism_io_uring = {
    .name = "io_uring",
    .ring = true,
    .unavailable = unavailable,
    .create = create,
    .destroy = destroy,
    .add_listener = add_listener,
    .remove_listener = remove_listener,
    .add_connection = add_connection,
    .remove_connection = remove_connection,
    .watch = watch,
    .rearm = rearm,
    .wait = wait_events,
};
