/*
 * See server.h.
 *
 * One thread with an event loop. Connections are watched edge-triggered for everything from the beginning, so
 * that a request costs no call to change what is watched; what may be read meanwhile is remembered.
 */
#include "server.h"

#include "common/clock.h"
#include "common/json_writer.h"
#include "httpd/http/request.h"
#include "query.h"
#include "work.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    EVENTS_PER_PASS = 64,
    INPUT_BYTES = 8192, /* of one request, with its head */
    HEAD_BYTES = 256,
    CONTENT_BYTES = 65536, /* written over and over */
    STATUS_BYTES = 1024,
    BACKLOG = 4096,
};

struct connection {
    int descriptor;
    bool readable, busy, broken, keep_alive, head_only;
    struct job job;
    size_t input_length;
    size_t head_length, head_sent;
    uint64_t content_left;
    char head[HEAD_BYTES + STATUS_BYTES]; /* the status is sent with its head */
    char input[INPUT_BYTES];
};

struct server {
    int events, listener;
    bool accepting;
    struct work work;
    uint64_t accepted, open;
};

static char content[CONTENT_BYTES];

int server_listen(const struct sockaddr_in *address)
{
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1;

    if (listener < 0)
        return -1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(listener, (const struct sockaddr *)address, sizeof(*address)) != 0 ||
        listen(listener, BACKLOG) != 0) {
        int reason = errno;
        close(listener);
        errno = reason;
        return -1;
    }
    return listener;
}

/* Watches the listener, or stops it while there are no descriptors. */
static void watch_listener(struct server *server, bool accepting)
{
    struct epoll_event event = {.events = accepting ? EPOLLIN : 0};

    server->accepting = accepting;
    epoll_ctl(server->events, EPOLL_CTL_MOD, server->listener, &event);
}

static void close_connection(struct server *server, struct connection *connection, uint64_t now_ns)
{
    work_drop(&server->work, &connection->job, now_ns);
    close(connection->descriptor);
    free(connection);
    server->open--;
    if (!server->accepting)
        watch_listener(server, true);
}

static void accept_connections(struct server *server)
{
    int descriptor, on = 1;

    while ((descriptor = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct connection *connection = calloc(1, sizeof(*connection));
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                    .data.ptr = connection};
        if (connection == NULL || epoll_ctl(server->events, EPOLL_CTL_ADD, descriptor, &event) != 0) {
            free(connection);
            close(descriptor);
            return;
        }
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        connection->descriptor = descriptor;
        server->accepted++;
        server->open++;
    }
    if (errno == EMFILE || errno == ENFILE)
        watch_listener(server, false);
}

/* Writes the head of a reply whose content follows, or stands behind the head already (`text`). */
static void begin_reply(struct connection *connection, const char *status, const char *type, uint64_t size,
                        const char *text)
{
    int length = snprintf(connection->head, sizeof(connection->head),
                          "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %llu\r\n%s\r\n%s", status, type,
                          (unsigned long long)size, connection->keep_alive ? "" : "Connection: close\r\n",
                          connection->head_only || text == NULL ? "" : text);
    connection->head_length = (size_t)length;
    connection->head_sent = 0;
    connection->content_left = connection->head_only || text != NULL ? 0 : size;
}

static void begin_status(struct server *server, struct connection *connection)
{
    char text[STATUS_BYTES];
    FILE *out = fmemopen(text, sizeof(text), "w");
    struct rusage used;
    struct json_writer json;
    const struct work *work = &server->work;

    if (out == NULL) {
        begin_reply(connection, "503 Service Unavailable", "text/plain", 0, "");
        return;
    }
    getrusage(RUSAGE_SELF, &used);
    uint64_t cpu_us = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * US_PER_S +
                      (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    json_begin(&json, out);
    json_open_object(&json);
    json_member_unsigned(&json, "connections_open", server->open);
    json_member_unsigned(&json, "connections_accepted", server->accepted);
    json_member_unsigned(&json, "in_service", work->in_service.count);
    json_member_unsigned(&json, "queued", work->queued);
    json_member_unsigned(&json, "queue_length_max", work->counts.queue_length_max);
    json_member_unsigned(&json, "requests", work->counts.requests);
    json_member_unsigned(&json, "done", work->counts.done);
    json_member_unsigned(&json, "waited", work->counts.waited);
    json_member_unsigned(&json, "wait_us", work->counts.wait_us);
    json_member_unsigned(&json, "service_us", work->counts.service_us);
    json_member_unsigned(&json, "late", work->counts.late);
    json_member_unsigned(&json, "cpu_us", cpu_us);
    json_close_object(&json);
    json_end_line(&json);
    fclose(out);
    begin_reply(connection, "200 OK", "application/json", strlen(text), text);
}

/* Sends what it can of the reply under way. Returns whether all of it is out. */
static bool send_reply(struct connection *connection)
{
    while (connection->head_sent < connection->head_length || connection->content_left > 0) {
        size_t head = connection->head_length - connection->head_sent;
        size_t rest = connection->content_left < CONTENT_BYTES ? connection->content_left : CONTENT_BYTES;
        struct iovec parts[] = {{connection->head + connection->head_sent, head}, {content, rest}};
        ssize_t sent = writev(connection->descriptor, parts, 2);
        if (sent < 0) {
            if (errno == EINTR)
                continue;
            connection->broken = errno != EAGAIN;
            return false;
        }
        size_t of_head = (size_t)sent < head ? (size_t)sent : head;
        connection->head_sent += of_head;
        connection->content_left -= (size_t)sent - of_head;
    }
    return true;
}

/* Answers, or begins to work on, the complete request at the beginning of the input. */
static void answer(struct server *server, struct connection *connection, const struct request *request,
                   uint64_t now_ns)
{
    const char *target = connection->input + request->target_offset;
    struct query query;

    connection->busy = true;
    connection->keep_alive = request->status == 0 && request->keep_alive;
    connection->head_only = request->method == METHOD_HEAD;
    if (request->status != 0) {
        begin_reply(connection, "400 Bad Request", "text/plain", 0, "");
    } else if (query_is_status(target, request->target_length)) {
        begin_status(server, connection);
    } else if (query_parse(target, request->target_length, &query)) {
        begin_reply(connection, "200 OK", "text/plain", query.size_bytes, NULL);
        work_take(&server->work, &connection->job, query.service_us, now_ns);
    } else {
        begin_reply(connection, "404 Not Found", "text/plain", 0, "");
    }
}

/* Whether the reply under way waits for its time. */
static bool is_worked_on(const struct connection *connection)
{
    return connection->job.waits || connection->job.in_service;
}

/* Reads until there is a request, or no more to read. Returns whether there is one. */
static bool read_request(struct server *server, struct connection *connection, uint64_t now_ns)
{
    for (;;) {
        struct request request = {0};
        if (connection->input_length > 0 &&
            request_parse(&request, connection->input, connection->input_length)) {
            answer(server, connection, &request, now_ns);
            connection->input_length -= request.parsed;
            memmove(connection->input, connection->input + request.parsed, connection->input_length);
            return true;
        }
        size_t room = INPUT_BYTES - connection->input_length;
        if (!connection->readable)
            return false;
        ssize_t count =
            room == 0 ? 0 : read(connection->descriptor, connection->input + connection->input_length, room);
        if (count > 0) {
            connection->input_length += (size_t)count;
        } else if (count < 0 && errno == EAGAIN) {
            connection->readable = false;
        } else if (count == 0 || errno != EINTR) {
            connection->broken = true;
            return false;
        }
    }
}

/* Goes on with a connection as far as it can. */
static void go_on(struct server *server, struct connection *connection, uint64_t now_ns)
{
    while (!connection->broken) {
        if (!connection->busy && !read_request(server, connection, now_ns))
            break;
        if (is_worked_on(connection) || !send_reply(connection))
            break;
        connection->busy = false;
        connection->broken = !connection->keep_alive;
    }
    if (connection->broken)
        close_connection(server, connection, now_ns);
}

static void finish_jobs(struct server *server)
{
    struct job *job;

    for (uint64_t now_ns = clock_now_ns(); (job = work_next_done(&server->work, now_ns)) != NULL;
         now_ns = clock_now_ns())
        go_on(server, container_of(job, struct connection, job), now_ns);
}

/* The time until the next request is done; NULL: no end. */
static const struct timespec *time_left(const struct work *work, struct timespec *left)
{
    uint64_t due_ns = work_due_ns(work), now_ns = clock_now_ns();

    if (due_ns == TIMER_NEVER)
        return NULL;
    uint64_t left_ns = due_ns > now_ns ? due_ns - now_ns : 0;
    *left = (struct timespec){.tv_sec = (time_t)(left_ns / NS_PER_S), .tv_nsec = (long)(left_ns % NS_PER_S)};
    return left;
}

bool server_run(int listener, uint64_t concurrency)
{
    struct server server = {.listener = listener,
                            .accepting = true,
                            .events = epoll_create1(EPOLL_CLOEXEC),
                            .work.concurrency = concurrency};
    struct epoll_event event = {.events = EPOLLIN}, events[EVENTS_PER_PASS];
    struct timespec left;

    memset(content, 'u', sizeof(content));
    if (server.events < 0 || epoll_ctl(server.events, EPOLL_CTL_ADD, listener, &event) != 0)
        return false;
    for (;;) {
        int count =
            epoll_pwait2(server.events, events, EVENTS_PER_PASS, time_left(&server.work, &left), NULL);
        if (count < 0 && errno != EINTR)
            return false;
        uint64_t now_ns = clock_now_ns();
        for (int i = 0; i < count; i++) {
            struct connection *connection = events[i].data.ptr;
            if (connection == NULL) {
                accept_connections(&server);
                continue;
            }
            connection->readable |= (events[i].events & (EPOLLIN | EPOLLRDHUP)) != 0;
            /* One that has only closed its sending side gets its reply: most applications never notice. */
            connection->broken |= (events[i].events & (EPOLLERR | EPOLLHUP)) != 0;
            go_on(&server, connection, now_ns);
        }
        finish_jobs(&server);
    }
}
