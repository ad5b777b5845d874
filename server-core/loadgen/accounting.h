/*
 * Counts what happened to sessions and requests, and how long it took.
 *
 * DESIGN. Each request that was offered ends in exactly one cell: one of the outcomes of size_classes.h, or
 * `dropped` when its session could not be started. So, once all sessions have ended,
 *     offered = replied + timed_out_before_read + timed_out_after_read + failed + abandoned + dropped
 * and the classes add up to offered - dropped. Offered requests are counted when their session arrives and
 * the others when they end; the equation therefore checks the generator (account_balanced).
 *
 * An account lies in one block of memory and points nowhere else, so that it may be shared: each worker
 * process writes its own, and the parent reads them all, adds them up (account_merge) and reports.
 *
 * Two intervals matter. Goodput and reply rate count replies that were completed inside the window from the
 * end of the warm-up to the end of the run. Latencies are kept of what was meant to happen from the end of
 * the warm-up on, however late it did.
 */
#ifndef TRIMTAB_LOADGEN_ACCOUNTING_H
#define TRIMTAB_LOADGEN_ACCOUNTING_H

#include "common/histogram.h"
#include "loadgen/size_classes.h"

#include <stdbool.h>
#include <stdint.h>

/* An arrival counts as late when it started this long after its moment: the tail that a generator shows which
 * has time to spare. */
#define ACCOUNT_LATE_US 1000

/* Why a request failed. */
enum failure {
    FAILURE_CONNECT_REFUSED,   /* connect: ECONNREFUSED */
    FAILURE_RESET,             /* ECONNRESET or EPIPE */
    FAILURE_CLOSED_EARLY,      /* the server closed the connection before the reply was complete */
    FAILURE_WRONG_LENGTH,      /* the body, or all rows, have not so many bytes as the log expects */
    FAILURE_MALFORMED_HEAD,    /* not an HTTP/1.x reply head, or not MariaDB's protocol */
    FAILURE_HEAD_TOO_LONG,     /* the head has more than REPLY_HEAD_MAX bytes */
    FAILURE_TRANSFER_ENCODING, /* the body is encoded, and not in chunks alone */
    FAILURE_MALFORMED_CHUNK,   /* no chunks, or more than REPLY_HEAD_MAX bytes round their contents */
    FAILURE_UNEXPECTED_DATA,   /* bytes that no request asked for */
    FAILURE_WRONG_CONTENT,     /* a byte of the body is not what path and offset say; or not so many rows */
    FAILURE_NO_PORT,           /* a connection could not be opened again: no local port was free */
    FAILURE_NO_DESCRIPTOR,     /* likewise: the limit of open files, or kernel memory for sockets */
    FAILURE_TLS_HANDSHAKE,     /* the server refused the handshake, or did not keep to it */
    FAILURE_TLS_CERTIFICATE,   /* its certificate is not of a trusted authority, out of date, or another's */
    FAILURE_TLS_RECORD,        /* what came after the handshake could not be decrypted */
    FAILURE_NO_HTTP2,          /* the server does not choose HTTP/2 in the handshake */
    FAILURE_HTTP2_PROTOCOL,    /* what came on the connection is not HTTP/2 */
    /* Those below are counted by their detail. */
    FAILURE_STATUS, /* answered, but with a status that is not 2xx, or an error; the detail is its number */
    FAILURE_ERRNO,  /* another error of the socket; the detail is the errno */
    /* The detail of both is an error code of HTTP/2 (RFC 9113 §7). */
    FAILURE_RST_STREAM, /* the server has reset the stream */
    FAILURE_GOAWAY,     /* the server has taken leave because of an error */
};

/* Why an arriving session could not be started. */
enum drop {
    DROP_PORTS,       /* no local port was free */
    DROP_DESCRIPTORS, /* the limit of open files, or kernel memory for sockets */
    DROP_LATENESS,    /* the generator came to it only when its connect timeout was over */
    DROP_COUNT
};

/* How a started session ends. */
enum session_end {
    SESSION_COMPLETED,         /* every request was replied to */
    SESSION_TIMED_OUT_CONNECT, /* connect timeout */
    SESSION_TIMED_OUT,         /* session timeout */
    SESSION_FAILED,            /* at least one request failed */
    SESSION_INTERRUPTED,       /* cut off by the end of an interrupted run */
    SESSION_END_COUNT
};

enum {
    STATUS_MAX = 4999,    /* above 999 they are the numbers of a MariaDB server's errors */
    ERRNO_MAX = 255,      /* Linux defines errno values below this */
    HTTP2_ERROR_MAX = 14, /* all that are unknown count as this one */
};

struct account {
    uint64_t warmup_end_ns; /* of the monotonic clock, as all moments here */
    uint64_t window_end_ns; /* end of the goodput window */
    uint64_t sessions_offered;
    uint64_t sessions_started;
    uint64_t sessions_slow; /* of those started: with a slow client */
    uint64_t most_open;     /* connections at once, those too that nobody has accepted yet */
    uint64_t session_ends[SESSION_END_COUNT];
    uint64_t sessions_dropped[DROP_COUNT];
    uint64_t requests_offered;
    uint64_t requests_dropped;
    uint64_t requests[OUTCOME_COUNT];
    struct size_classes size_classes;
    uint64_t replies_by_status[STATUS_MAX + 1]; /* every complete reply */
    uint64_t replies_verified;                  /* good ones whose contents were looked at */
    uint64_t failures[FAILURE_STATUS];
    uint64_t failures_by_status[STATUS_MAX + 1];
    uint64_t failures_by_errno[ERRNO_MAX + 1];
    uint64_t failures_by_reset[HTTP2_ERROR_MAX + 1];
    uint64_t failures_by_goaway[HTTP2_ERROR_MAX + 1];
    uint64_t handshakes;                  /* of TLS, completed */
    uint64_t handshakes_resumed;          /* of them: with a session of an earlier connection */
    uint64_t handshakes_failed;           /* refused, broken or broken off, but not timed out */
    uint64_t sessions_resumption_offered; /* connections that offered such a session */
    uint64_t window_handshakes;           /* completed inside the window */
    uint64_t streams;                     /* of HTTP/2: requests asked, those asked again too */
    uint64_t streams_reset;               /* by the server, before their reply was complete */
    uint64_t most_streams;                /* under way at once on a connection */
    uint64_t goaways;                     /* connections that the server has taken leave of */
    uint64_t asked_again;                 /* requests that such a server did not take */
    uint64_t connections_reopened; /* within a session, because the connection before was to be closed */
    uint64_t bytes_received;       /* everything, also of replies that were never completed */
    uint64_t window_bytes;         /* heads and bodies of the replies inside the window */
    uint64_t window_replies;
    uint64_t window_due;             /* requests whose moment lies inside the window */
    uint64_t late_arrivals;          /* started more than ACCOUNT_LATE_US after their moment */
    struct histogram *lateness_us;   /* of all arrivals */
    struct histogram *connect_us;    /* from the intended start of the session */
    struct histogram *handshake_us;  /* from the established connection on */
    struct histogram *first_byte_us; /* from the intended moment of the request */
    struct histogram *reply_us;      /* likewise, to the last byte */
    struct histogram *progress_us;   /* as reply_us, from the start of the run; for progress lines */
    uint64_t replied_bytes;          /* heads and bodies of all good replies */
};

/* Bytes of memory that an account takes. */
size_t account_bytes(void);

/* Makes an empty account of `memory`, which has room for account_bytes() and is aligned for uint64_t; the
 * moments are as above. */
struct account *account_init(void *memory, uint64_t warmup_end_ns, uint64_t window_end_ns);

/* Allocates and initialises an account. Released with free(). */
struct account *account_new(uint64_t warmup_end_ns, uint64_t window_end_ns);

/* Adds everything that `from` has counted to `to`. */
void account_merge(struct account *to, const struct account *from);

/* A session of `requests` requests has arrived; it is then either dropped or started. */
void account_arrival(struct account *account, uint32_t requests);

/* A request would be made at `due_ns` if all replies before it in its session came at once. */
void account_due(struct account *account, uint64_t due_ns);

/* A session that goes on for as long as the run does has come to a further request. */
void account_offer(struct account *account);
void account_drop(struct account *account, enum drop reason, uint32_t requests);
void account_start(struct account *account, uint64_t intended_ns, uint64_t started_ns);

void account_connected(struct account *account, uint64_t intended_ns, uint64_t now_ns);

/* A handshake that began at `begun_ns` is complete; `resumed`: with a session of an earlier connection. */
void account_handshake(struct account *account, uint64_t begun_ns, uint64_t now_ns, bool resumed);

void account_first_byte(struct account *account, uint64_t intended_ns, uint64_t now_ns);

/* A request was answered as it should be: with `bytes` of head and body, for a file of `size_bytes`. */
void account_reply(struct account *account, uint64_t intended_ns, uint64_t now_ns, uint64_t bytes,
                   uint64_t size_bytes);

/* A request failed; `detail` as the reason says, else 0. */
void account_failure(struct account *account, enum failure reason, unsigned detail, uint64_t size_bytes);

/* A request timed out or was abandoned. */
void account_outcome(struct account *account, enum outcome outcome, uint64_t size_bytes);

void account_session_end(struct account *account, enum session_end end);

/* Sums over enums. */
uint64_t account_dropped_sessions(const struct account *account);
uint64_t account_ended_sessions(const struct account *account);
uint64_t account_timed_out_requests(const struct account *account);

/* Says whether every offered request is in exactly one cell, in total and by class. */
bool account_balanced(const struct account *account);

/* Calls `each` with `context`, the name that reports use, such as "reset" or "status-404", and the count of
 * every kind of failure that occurred. The counts add up to the failed requests. */
void account_each_failure(const struct account *account,
                          void (*each)(void *context, const char *name, uint64_t count), void *context);

/* Counts `times` failures of the kind that has this name; the requests are counted elsewhere. Returns false
 * when no kind has it. */
bool account_add_failures(struct account *account, const char *name, uint64_t times);

#endif
