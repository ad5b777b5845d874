/*
 * The ring of the uring architecture: what is asked of the kernel, and what it says back. uring.c is what is
 * done about it.
 *
 * All operations on connections go through the ring, closing included, so that they reach the kernel in the
 * order in which they were asked for: an operation names its socket by number, and a close(2) that overtook
 * one in the ring would let it hit whatever gets that number next.
 */
#ifndef TRIMTAB_HTTPD_ARCH_URING_H
#define TRIMTAB_HTTPD_ARCH_URING_H

#include "httpd/connection/connection.h"
#include "httpd/connection/recycle.h"

#include <liburing.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define URING_BUFFERS      256  /* for received bytes; a power of two */
#define URING_BUFFER_BYTES 2048 /* most requests are shorter; a longer one takes several */

/* What a completion is about; in the lowest bits of user_data. */
enum operation { OP_IGNORED, OP_ACCEPT, OP_RECEIVE, OP_SEND, OP_WAKE, OP_OPEN, OP_ARRIVAL };

struct opening;
struct sending;

struct uring_connection {
    struct connection connection;
    struct sending *sending; /* what the kernel is sending for it */
    struct opening *opening; /* the name that it is looking up for it */
    uint8_t asked;           /* names that the request needs (file_cache_would_wait()) */
    bool receiving;          /* the kernel receives for it until that is cancelled */
    bool pausing;            /* that has been cancelled, for too much is pending already */
    uint16_t generation;     /* how often the structure has been used; stays when it is used again */
};

/* A reply, or part of one, that the kernel is sending. It owns what it sends from: the connection may end.
 * The text has been copied to memory of the sending, which is used again, unless the reply has a copy
 * already. */
struct sending {
    struct uring_connection *own; /* NULL: it has ended */
    struct cached_file *file;
    const char *text;
    bool owns_text; /* that the reply had copied; otherwise it is in `room` */
    char *room;
    size_t room_bytes;
    bool waits; /* for room in the socket, or for a disk; nothing is being sent */
    struct msghdr message;
    struct iovec pieces[2];
    struct sending *next_free;
};

/* A name that a thread of the kernel is looking up. */
struct opening {
    struct uring_connection *own; /* NULL: it has ended */
    struct opening *next, **link; /* of those under way, and what leads to this one */
    char path[];
};

/* A completion, copied out of the ring. */
struct completion {
    uint64_t user_data;
    int32_t result;
    uint32_t flags;
};

struct uring {
    struct io_uring ring;
    struct io_uring_buf_ring *buffers; /* the ring of free ones */
    char *bytes;                       /* of all buffers */
    struct sending *free_sendings;
    unsigned free_count;
    struct opening *openings;
    int *unclosed; /* sockets for whose closing there was no room */
    size_t unclosed_count, unclosed_capacity;
};

/* What the kernel has been asked to accept at a listener. */
struct accepting {
    bool multishot, cancelled;
    int64_t single;        /* requests for one connection each */
    int64_t at_once;       /* so many clients may wait that a multishot request takes all of */
    bool watched, arrived; /* it is to say when a client waits; one does, or did */
};

/* Sockets that have been accepted and await their accept phase: a ring that grows. */
struct accept_queue {
    struct worker *worker;
    struct uring *uring;
    struct accepting *accepting; /* by listener */
    int *sockets;
    size_t first, length, capacity;
    uint64_t back_off_until_ns;
    struct recycling recycling;
    uint64_t look_until_ns; /* whether clients wait who are overlooked */
};

/* Returns false with errno set when there is no memory. */
bool accept_queue_open(struct accept_queue *queue, struct worker *worker, struct uring *uring);

/* Closes the sockets that wait, and frees everything. */
void accept_queue_close(struct accept_queue *queue);

/* Asks the kernel for connections as far as there is room for them, and for no more. */
void accept_queue_update(struct accept_queue *queue);

/* Takes note of the completion of an accept request. */
void accept_queue_completed(struct accept_queue *queue, const struct completion *completion);

/* To be called when another worker may have died: clients are looked for who are overlooked. */
void accept_queue_look(struct accept_queue *queue);

/* Takes note of the completion of a request to say when a client waits. */
void accept_queue_arrived(struct accept_queue *queue, const struct completion *completion);

/* The accept phase: opens up to accept_limit of the connections that wait, while `work_count` items are in
 * the work queue. */
void accept_queue_serve(struct accept_queue *queue, unsigned work_count);

/* Says whether all places are taken, somebody waits and idle connections may have to give way; and has them
 * do so, by `retire`, which gets `user`. What has come is to be worked on in between: who looks idle may have
 * asked. */
bool accept_queue_wants_places(const struct accept_queue *queue);
void accept_queue_make_places(struct accept_queue *queue, void (*retire)(void *user, struct timer *timer),
                              void *user);

/* Says whether the queue is empty and the kernel accepts for it no more. */
bool accept_queue_is_over(const struct accept_queue *queue);

/* Returns in how many milliseconds there is something to do without a completion; -1: not before one. */
int accept_queue_wait_ms(const struct accept_queue *queue);

/* Opens a ring with its buffers. Returns NULL, or what this kernel lacks. */
const char *uring_open(struct uring *uring);
void uring_close(struct uring *uring);

/* Tries what the architecture needs of the kernel. Returns NULL, or what is missing. */
const char *uring_unavailable(void);

/* Submits what has been asked for, and waits up to timeout_ms (-1: for ever) until there are completions.
 * Returns -1 with errno set on failure. */
int uring_wait(struct uring *uring, int timeout_ms);

/* Says whether something has been asked for that the kernel has not been given yet. */
static inline bool uring_has_asked(const struct uring *uring)
{
    return io_uring_sq_ready(&uring->ring) > 0;
}

/* Takes up to `size` completions. Returns how many. */
unsigned uring_take(struct uring *uring, struct completion *completions, unsigned size);

/* Returns a submission to be filled in; NULL when the kernel does not take what the ring holds. */
struct io_uring_sqe *uring_submission(struct uring *uring, uint64_t user_data);

/* Cancels what was asked for with such user_data. */
bool uring_cancel(struct uring *uring, uint64_t user_data, unsigned flags);

/* Ask for things. Receiving and multishot accepting go on until they are cancelled or fail. They return false
 * when the kernel takes no more. */
bool uring_accept(struct uring *uring, int listener, unsigned index, bool multishot);
bool uring_cancel_accepts(struct uring *uring, unsigned index);
bool uring_watch_listener(struct uring *uring, int listener, unsigned index);
bool uring_receive(struct uring *uring, struct uring_connection *own);
bool uring_cancel_receive(struct uring *uring, const struct uring_connection *own);
bool uring_watch_wake(struct uring *uring, int fd);

/* Closes a socket after all that has been asked for before; if the kernel takes no more now, as soon as it
 * has taken that. Returns false when there is no memory to remember it. */
bool uring_close_socket(struct uring *uring, int fd);

/* Has the ring send what is to be sent next of the reply, up to a pass (send/delivery.h). For the driver. */
enum send_outcome uring_send(struct uring *uring, struct worker *worker, struct connection *connection);

/* Has a sending that found the socket full told of room there. Returns false when the kernel takes no more.
 */
bool uring_await_room(struct uring *uring, struct sending *sending);

/* Cancels what the kernel is sending for a connection that has ended. */
bool uring_cancel_send(struct uring *uring, struct uring_connection *own);

/* Says what the result of an operation that has sent means. What is left is sent when it is its turn. */
enum send_outcome uring_send_outcome(struct worker *worker, struct connection *connection, int result);

/* Ends a sending: gives text and file back to its connection, if that has not ended. What is left of the text
 * is to be copied before uring_forget_sending(). */
void uring_sent(struct sending *sending);

/* Frees a sending that has ended, or keeps it for the next one. */
void uring_forget_sending(struct uring *uring, struct sending *sending);

/* Has a thread of the kernel look up the first name that serving a request (whose head begins at `data`)
 * would have to wait for, and suspends the connection. Returns false if there is none, or the kernel takes no
 * more. For the driver. */
bool uring_look_up(struct uring *uring, struct worker *worker, struct connection *connection,
                   const struct request *request, const char *data);

/* Ends that, with what has been opened, and returns the connection, if that has not ended. */
struct uring_connection *uring_opened(struct opening *opening, int result);

/* Forgets for whom a name is being looked up. */
void uring_forget_opening(struct uring_connection *own);

/* The bytes of a receive completion, and giving their buffer back. */
const char *uring_bytes(const struct uring *uring, uint32_t flags);
void uring_recycle(struct uring *uring, uint32_t flags);

static inline enum operation operation_of(uint64_t user_data)
{
    return (enum operation)(user_data & 7);
}

static inline unsigned listener_of(uint64_t user_data)
{
    return (unsigned)(user_data >> 3);
}

static inline struct sending *sending_of(uint64_t user_data)
{
    return (struct sending *)(uintptr_t)(user_data & ~UINT64_C(7));
}

static inline struct opening *opening_of(uint64_t user_data)
{
    return (struct opening *)(uintptr_t)(user_data & ~UINT64_C(7));
}

/* User addresses have 47 bits, so the generation fits above. Returns NULL if that connection has ended. */
static inline struct uring_connection *receiver_of(uint64_t user_data)
{
    struct uring_connection *own = (struct uring_connection *)(uintptr_t)(user_data & 0x0000FFFFFFFFFFF8);

    return own->generation == (uint16_t)(user_data >> 48) ? own : NULL;
}

#endif
