/*
 * Sending through the ring of the uring architecture. A reply leaves with one operation, head and body
 * together, from the page cache, into which the file is mapped; there is no copy of it in the server. What is
 * not in the page cache a thread of the kernel (IOSQE_ASYNC) reads first, to where nobody looks, and waits
 * for the disk instead of the server.
 *
 * The file might shrink meanwhile, and where it ends then, the rest of its last page is zeros, which the
 * kernel would send. So an operation with bytes of a file waits neither for a disk nor for room in the
 * socket: it is over when the call that submits it returns, and before that, in the same turn, the file is
 * looked at. Where there is no room it fails, the socket is watched, and the file is looked at before the
 * next one.
 */
#include "httpd/arch/uring.h"
#include "httpd/cache/residency.h"
#include "httpd/log.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define WARM_BYTES    (4 << 20) /* larger files are looked at pass by pass */
#define SENDINGS_KEPT 256       /* for the next ones */
#define PIECE_BYTES   16384     /* read at once to where nobody looks */
#define PIECES        (PASS_BYTES / PIECE_BYTES)

/* Says whether the file still has what is to be sent of it. */
static bool is_long_enough(const struct connection *connection)
{
    struct stat status;

    return fstat(connection->delivery.file->fd, &status) == 0 &&
           status.st_size >= connection->protocol.reply.end;
}

/*
 * Says whether what is sent next must be fetched from a disk. Of a file that is not very large that is asked
 * once a second at most, and of all of it: an answer costs two system calls.
 */
static bool is_cold(const struct worker *worker, const struct connection *connection)
{
    struct cached_file *file = connection->delivery.file;
    const struct reply *reply = &connection->protocol.reply;
    const off_t pass_end = reply->offset + delivery_pass_bytes(&connection->delivery);

    if (file->size > WARM_BYTES)
        return !residency_check(file->fd, reply->offset, pass_end < reply->end ? pass_end : reply->end);
    if (file->resident != worker->date.second && residency_check(file->fd, 0, (off_t)file->size))
        file->resident = worker->date.second;
    return file->resident != worker->date.second;
}

static void free_sending(struct sending *sending)
{
    free(sending->room);
    free(sending);
}

void uring_forget_sending(struct uring *uring, struct sending *sending)
{
    if (uring->free_count == SENDINGS_KEPT) {
        free_sending(sending);
        return;
    }
    sending->next_free = uring->free_sendings;
    uring->free_sendings = sending;
    uring->free_count++;
}

/* Returns a sending with room for `text_bytes`; NULL when there is no memory. */
static struct sending *take_sending(struct uring *uring, size_t text_bytes)
{
    struct sending *sending = uring->free_sendings;

    if (sending) {
        uring->free_sendings = sending->next_free;
        uring->free_count--;
    } else {
        sending = calloc(1, sizeof(*sending));
    }
    if (sending && sending->room_bytes < text_bytes) {
        free(sending->room);
        sending->room = malloc(text_bytes);
        sending->room_bytes = sending->room ? text_bytes : 0;
    }
    if (sending && sending->room_bytes < text_bytes) {
        free_sending(sending);
        return NULL;
    }
    return sending;
}

/* Asks a thread of the kernel to read a pass of the file, and forgets what it reads. */
static void ask_to_fetch(struct io_uring_sqe *submission, struct connection *connection)
{
    static char nowhere[PIECE_BYTES];
    static struct iovec pieces[PIECES]; /* the kernel looks at them when it likes */
    const struct reply *reply = &connection->protocol.reply;
    const off_t rest = reply->end - reply->offset, pass = delivery_pass_bytes(&connection->delivery);
    const off_t bytes = rest < pass ? rest : pass;

    for (size_t i = 0; i < PIECES; i++)
        pieces[i] = (struct iovec){.iov_base = nowhere, .iov_len = PIECE_BYTES};
    io_uring_prep_readv(submission, connection->delivery.file->fd, pieces,
                        (unsigned)((bytes + PIECE_BYTES - 1) / PIECE_BYTES), (uint64_t)reply->offset);
    submission->flags |= IOSQE_ASYNC;
    connection->delivery.checked = reply->offset + bytes;
}

/* Asks to send what is left of the reply's text, and of the range of its file, of which `contents` is the
 * memory, up to a pass. */
static void ask_to_send(struct io_uring_sqe *submission, struct sending *sending,
                        struct connection *connection, const char *contents)
{
    struct reply *reply = &connection->protocol.reply;
    const int flags = MSG_NOSIGNAL | (reply->offset < reply->end ? MSG_DONTWAIT : 0);
    size_t pieces = 0;

    if (reply->text_sent < reply->text_length)
        sending->pieces[pieces++] = (struct iovec){
            .iov_base = (char *)(uintptr_t)(reply->text + reply->text_sent),
            .iov_len = reply->text_length - reply->text_sent,
        };
    if (reply->offset < reply->end) {
        const off_t rest = reply->end - reply->offset, pass = delivery_pass_bytes(&connection->delivery);

        sending->pieces[pieces++] = (struct iovec){
            .iov_base = (char *)(uintptr_t)(contents + reply->offset),
            .iov_len = (size_t)(rest < pass ? rest : pass),
        };
    }
    connection->delivery.begun = true;
    if (pieces == 1) { /* which needs no message to be copied and checked */
        io_uring_prep_send(submission, connection->fd, sending->pieces->iov_base, sending->pieces->iov_len,
                           flags);
    } else {
        sending->message.msg_iov = sending->pieces;
        sending->message.msg_iovlen = pieces;
        io_uring_prep_sendmsg(submission, connection->fd, &sending->message, (unsigned)flags);
    }
}

/* Asks for a part of the reply to be sent, or fetched first. The operation takes text and file from the
 * connection until uring_sent(). Returns false when the kernel takes no more or there is no memory. */
static bool ask(struct uring *uring, struct uring_connection *own, const char *contents, bool cold)
{
    struct connection *connection = &own->connection;
    struct reply *reply = &connection->protocol.reply;
    const size_t text_bytes = reply->text_length - reply->text_sent;
    struct sending *sending = take_sending(uring, reply->owns_text ? 0 : text_bytes);
    struct io_uring_sqe *submission;

    if (!sending)
        return false;
    submission = uring_submission(uring, (uint64_t)(uintptr_t)sending | OP_SEND);
    if (!submission) {
        uring_forget_sending(uring, sending);
        return false;
    }
    if (!reply->owns_text && text_bytes > 0) {
        memcpy(sending->room, reply->text + reply->text_sent, text_bytes);
        reply->text = sending->room;
        reply->text_length = (uint32_t)text_bytes;
        reply->text_sent = 0;
    }
    if (cold)
        ask_to_fetch(submission, connection);
    else
        ask_to_send(submission, sending, connection, contents);
    sending->own = own;
    sending->waits = cold;
    sending->file = connection->delivery.file;
    sending->text = reply->text;
    sending->owns_text = reply->owns_text;
    connection->delivery.file = NULL;
    reply->text = NULL;
    own->sending = sending;
    return true;
}

enum send_outcome uring_send(struct uring *uring, struct worker *worker, struct connection *connection)
{
    struct reply *reply = &connection->protocol.reply;
    const bool has_range = reply->offset < reply->end;
    const char *contents = NULL;
    bool cold = false;

    if (has_range && !is_long_enough(connection))
        return SEND_TRUNCATED;
    if (has_range) {
        contents = file_table_map(connection->delivery.file);
        cold = reply->offset >= connection->delivery.checked && is_cold(worker, connection);
        worker->counters->helper_requests += cold;
    }
    if ((has_range && !contents) || !ask(uring, (struct uring_connection *)connection, contents, cold)) {
        log_errno("no memory for a reply");
        connection_close(worker, connection, CLOSED_BY_SERVER);
    } else {
        connection_pace(worker, connection);
    }
    return SEND_ELSEWHERE;
}

bool uring_await_room(struct uring *uring, struct sending *sending)
{
    struct io_uring_sqe *submission = uring_submission(uring, (uint64_t)(uintptr_t)sending | OP_SEND);

    if (!submission)
        return false;
    io_uring_prep_poll_add(submission, sending->own->connection.fd, POLLOUT);
    sending->waits = true;
    return true;
}

bool uring_cancel_send(struct uring *uring, struct uring_connection *own)
{
    struct sending *sending = own->sending;

    sending->own = NULL;
    own->sending = NULL;
    return uring_cancel(uring, (uint64_t)(uintptr_t)sending | OP_SEND, 0);
}

void uring_sent(struct sending *sending)
{
    struct uring_connection *own = sending->own;

    if (own) {
        own->connection.delivery.file = sending->file;
        own->connection.protocol.reply.text = sending->text;
        own->sending = NULL;
        return;
    }
    if (sending->file)
        file_cache_release(sending->file);
    if (sending->owns_text)
        free((char *)(uintptr_t)sending->text);
}

enum send_outcome uring_send_outcome(struct worker *worker, struct connection *connection, int result)
{
    struct stat status;

    if (result >= 0) {
        const enum reply_progress progress = reply_advance(&connection->protocol.reply, (size_t)result);

        worker->counters->bytes_sent += (uint64_t)result;
        connection->delivery.checked = connection->protocol.reply.offset; /* of another part, perhaps */
        switch (progress) {
        case REPLY_GOES_ON:
            return SEND_PAUSED;
        case REPLY_OVER:
            return SEND_COMPLETE;
        case REPLY_FAILED:
            return SEND_FAILED;
        }
    }
    if (result == -EAGAIN || result == -EINTR)
        return SEND_PAUSED;
    if (result == -EFAULT && connection->delivery.file &&
        fstat(connection->delivery.file->fd, &status) == 0 && status.st_size < connection->protocol.reply.end)
        return SEND_TRUNCATED;
    return SEND_FAILED;
}
