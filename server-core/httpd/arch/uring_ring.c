/*
 * See uring.h.
 */
#include "httpd/arch/uring.h"

#include "common/clock.h"
#include "httpd/connection/sending.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SUBMISSIONS  1024
#define COMPLETIONS  8192
#define BUFFER_GROUP 0

static int open_ring(struct io_uring *ring, unsigned submissions, unsigned completions)
{
    struct io_uring_params params = {
        .flags = IORING_SETUP_CQSIZE | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
        .cq_entries = completions,
    };
    int result = io_uring_queue_init_params(submissions, ring, &params);

    if (result == -EINVAL) { /* before 6.1 */
        params = (struct io_uring_params){.flags = IORING_SETUP_CQSIZE, .cq_entries = completions};
        result = io_uring_queue_init_params(submissions, ring, &params);
    }
    return result;
}

static void offer_buffer(struct uring *uring, unsigned id, int offset)
{
    io_uring_buf_ring_add(uring->buffers, uring->bytes + (size_t)id * URING_BUFFER_BYTES, URING_BUFFER_BYTES,
                          (uint16_t)id, io_uring_buf_ring_mask(URING_BUFFERS), offset);
}

/* Provided buffers: the kernel takes one when bytes have arrived, so idle connections need none. */
static int provide_buffers(struct uring *uring)
{
    const size_t ring_bytes = URING_BUFFERS * sizeof(struct io_uring_buf);
    struct io_uring_buf_reg registration = {.ring_entries = URING_BUFFERS, .bgid = BUFFER_GROUP};
    int result;

    uring->buffers = mmap(NULL, ring_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uring->bytes = malloc((size_t)URING_BUFFERS * URING_BUFFER_BYTES);
    if (uring->buffers == MAP_FAILED || !uring->bytes)
        return -ENOMEM;
    registration.ring_addr = (uint64_t)(uintptr_t)uring->buffers;
    result = io_uring_register_buf_ring(&uring->ring, &registration, 0);
    if (result != 0)
        return result;
    io_uring_buf_ring_init(uring->buffers);
    for (unsigned i = 0; i < URING_BUFFERS; i++)
        offer_buffer(uring, i, (int)i);
    io_uring_buf_ring_advance(uring->buffers, URING_BUFFERS);
    return 0;
}

const char *uring_open(struct uring *uring)
{
    static char sentence[160];
    int result = open_ring(&uring->ring, SUBMISSIONS, COMPLETIONS);

    if (result != 0) {
        snprintf(sentence, sizeof(sentence), "the kernel refuses io_uring_setup: %s%s", strerror(-result),
                 result == -EPERM ? " (see kernel.io_uring_disabled)" : "");
        return sentence;
    }
    io_uring_register_ring_fd(&uring->ring); /* saves looking it up with every call; before 5.18 it is not */
    result = provide_buffers(uring);
    if (result == 0)
        return NULL;
    snprintf(sentence, sizeof(sentence), "the kernel refuses rings of provided buffers (Linux 5.19): %s",
             strerror(-result));
    uring_close(uring);
    return sentence;
}

/* Closes what was left over, once everything that names these sockets has left the ring. Shut down, for the
 * request that cancels receiving may have found no room either, and a request under way holds its socket. */
static void close_unclosed(struct uring *uring)
{
    while (uring->unclosed_count > 0) {
        const int fd = uring->unclosed[--uring->unclosed_count];

        shutdown(fd, SHUT_RDWR);
        close(fd);
    }
}

void uring_close(struct uring *uring)
{
    io_uring_queue_exit(&uring->ring);
    if (uring->buffers && uring->buffers != MAP_FAILED)
        munmap(uring->buffers, URING_BUFFERS * sizeof(struct io_uring_buf));
    free(uring->bytes);
    close_unclosed(uring);
    free(uring->unclosed);
    while (uring->free_sendings) {
        struct sending *sending = uring->free_sendings;

        uring->free_sendings = sending->next_free;
        free(sending->room);
        free(sending);
    }
    while (uring->openings) {
        struct opening *opening = uring->openings;

        uring->openings = opening->next;
        free(opening);
    }
}

/* Receives one byte from a pair of sockets as connections will be received from. */
static bool can_receive(struct uring *uring, struct uring_connection *own, int peer)
{
    struct completion completion = {0};

    return write(peer, "x", 1) == 1 && uring_receive(uring, own) && uring_wait(uring, 1000) == 0 &&
           uring_take(uring, &completion, 1) == 1 && completion.result == 1 &&
           completion.flags & IORING_CQE_F_MORE && *uring_bytes(uring, completion.flags) == 'x';
}

const char *uring_unavailable(void)
{
    static const int needed[] = {IORING_OP_ACCEPT,       IORING_OP_RECV,    IORING_OP_SEND,
                                 IORING_OP_SENDMSG,      IORING_OP_CLOSE,   IORING_OP_POLL_ADD,
                                 IORING_OP_ASYNC_CANCEL, IORING_OP_OPENAT2, IORING_OP_READV};
    struct uring uring = {0};
    const char *missing = uring_open(&uring);
    struct io_uring_probe *probe;
    int pair[2];

    if (missing)
        return missing;
    probe = io_uring_get_probe_ring(&uring.ring);
    for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++) {
        if (!probe || !io_uring_opcode_supported(probe, needed[i]))
            missing = "the kernel lacks an io_uring operation on sockets (Linux 5.6)";
    }
    io_uring_free_probe(probe);
    if (!missing && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0) {
        if (!can_receive(&uring, &(struct uring_connection){.connection = {.fd = pair[0]}}, pair[1]))
            missing = "the kernel lacks multishot receive requests (Linux 6.0)";
        close(pair[0]);
        close(pair[1]);
    }
    uring_close(&uring);
    return missing;
}

int uring_wait(struct uring *uring, int timeout_ms)
{
    struct __kernel_timespec timeout = {
        .tv_sec = timeout_ms / 1000,
        .tv_nsec = (long long)(timeout_ms % 1000) * (long long)NS_PER_MS,
    };
    struct io_uring_cqe *first;
    int result;

    if (timeout_ms == 0)
        result = io_uring_submit_and_get_events(&uring->ring);
    else
        result =
            io_uring_submit_and_wait_timeout(&uring->ring, &first, 1, timeout_ms > 0 ? &timeout : NULL, NULL);
    if (io_uring_sq_ready(&uring->ring) == 0)
        close_unclosed(uring);
    if (result >= 0 || result == -ETIME || result == -EINTR || result == -EBUSY || result == -EAGAIN)
        return 0;
    errno = -result;
    return -1;
}

unsigned uring_take(struct uring *uring, struct completion *completions, unsigned size)
{
    struct io_uring_cqe *taken[64];
    unsigned count = 0;

    while (count < size) {
        const unsigned room = size - count < 64 ? size - count : 64;
        const unsigned got = io_uring_peek_batch_cqe(&uring->ring, taken, room);

        for (unsigned i = 0; i < got; i++) {
            completions[count++] = (struct completion){
                .user_data = io_uring_cqe_get_data64(taken[i]),
                .result = taken[i]->res,
                .flags = taken[i]->flags,
            };
        }
        io_uring_cq_advance(&uring->ring, got);
        if (got < room)
            break;
    }
    return count;
}

struct io_uring_sqe *uring_submission(struct uring *uring, uint64_t user_data)
{
    struct io_uring_sqe *submission = io_uring_get_sqe(&uring->ring);

    if (!submission && io_uring_submit(&uring->ring) >= 0)
        submission = io_uring_get_sqe(&uring->ring);
    if (submission) {
        memset(submission, 0, sizeof(*submission));
        submission->user_data = user_data; /* the io_uring_prep_ functions leave it alone */
    }
    return submission;
}

bool uring_accept(struct uring *uring, int listener, unsigned index, bool multishot)
{
    struct io_uring_sqe *submission = uring_submission(uring, (uint64_t)index << 3 | OP_ACCEPT);

    if (!submission)
        return false;
    if (multishot)
        io_uring_prep_multishot_accept(submission, listener, NULL, NULL, SOCK_CLOEXEC);
    else
        io_uring_prep_accept(submission, listener, NULL, NULL, SOCK_CLOEXEC);
    return true;
}

bool uring_cancel(struct uring *uring, uint64_t user_data, unsigned flags)
{
    struct io_uring_sqe *submission = uring_submission(uring, OP_IGNORED);

    if (submission)
        io_uring_prep_cancel64(submission, user_data, (int)flags);
    return submission != NULL;
}

bool uring_cancel_accepts(struct uring *uring, unsigned index)
{
    return uring_cancel(uring, (uint64_t)index << 3 | OP_ACCEPT, IORING_ASYNC_CANCEL_ALL);
}

bool uring_watch_listener(struct uring *uring, int listener, unsigned index)
{
    struct io_uring_sqe *submission = uring_submission(uring, (uint64_t)index << 3 | OP_ARRIVAL);

    if (submission)
        io_uring_prep_poll_add(submission, listener, POLLIN);
    return submission != NULL;
}

static uint64_t receive_data(const struct uring_connection *own)
{
    return (uint64_t)own->generation << 48 | (uint64_t)(uintptr_t)own | OP_RECEIVE;
}

bool uring_receive(struct uring *uring, struct uring_connection *own)
{
    struct io_uring_sqe *submission = uring_submission(uring, receive_data(own));

    if (!submission)
        return false;
    io_uring_prep_recv_multishot(submission, own->connection.fd, NULL, 0, 0);
    submission->flags |= IOSQE_BUFFER_SELECT;
    submission->buf_group = BUFFER_GROUP;
    own->receiving = true;
    return true;
}

bool uring_cancel_receive(struct uring *uring, const struct uring_connection *own)
{
    return uring_cancel(uring, receive_data(own), 0);
}

bool uring_watch_wake(struct uring *uring, int fd)
{
    struct io_uring_sqe *submission = uring_submission(uring, OP_WAKE);

    if (submission)
        io_uring_prep_poll_multishot(submission, fd, POLLIN);
    return submission != NULL;
}

static bool close_later(struct uring *uring, int fd)
{
    if (uring->unclosed_count == uring->unclosed_capacity) {
        const size_t capacity = uring->unclosed_capacity ? 2 * uring->unclosed_capacity : 64;
        int *grown = realloc(uring->unclosed, capacity * sizeof(*grown));

        if (!grown)
            return false;
        uring->unclosed = grown;
        uring->unclosed_capacity = capacity;
    }
    uring->unclosed[uring->unclosed_count++] = fd;
    return true;
}

bool uring_close_socket(struct uring *uring, int fd)
{
    struct io_uring_sqe *submission = uring_submission(uring, OP_IGNORED);

    if (!submission)
        return close_later(uring, fd);
    io_uring_prep_close(submission, fd);
    return true;
}

const char *uring_bytes(const struct uring *uring, uint32_t flags)
{
    return uring->bytes + (size_t)(flags >> IORING_CQE_BUFFER_SHIFT) * URING_BUFFER_BYTES;
}

void uring_recycle(struct uring *uring, uint32_t flags)
{
    offer_buffer(uring, flags >> IORING_CQE_BUFFER_SHIFT, 0);
    io_uring_buf_ring_advance(uring->buffers, 1);
}
