/*
 * The limit of what an event-driven client on epoll can reach: it asks what a session log says, when it says
 * so, and reads what comes. No accounting, no timeouts, no look at what the replies are. What the load
 * generator spends on top of this is its own; what this spends is the kernel's, for packets that have to go.
 *
 * It keeps to the same log, arrivals, pauses, sockets and system calls as `trimtab-load open --close reset`,
 * with the generator's own readers of logs and clocks of arrivals.
 *
 * Usage: do-nothing-client PORT LOG RATE_RPS SECONDS   drives 127.0.0.1:PORT, then prints JSON
 */
#include "common/clock.h"
#include "loadgen/arrivals.h"
#include "loadgen/network.h"
#include "loadgen/sessions.h"
#include "loadgen/timers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define EVENTS_MAX    64
#define RECEIVE_BYTES 16384
#define HEAD_BYTES    1024
#define KEPT_MAX      64
#define SOURCES_MAX   8

struct client {
    struct alarm pause;
    struct client *next; /* among those that wait for a session */
    size_t source;
    uint64_t body_left;
    uint32_t request, last_request;
    int descriptor;
    bool busy; /* has a session */
    bool head_read;
};

static struct session_plan plan;
static struct network network;
static struct alarm_heap pauses;
static struct client *kept[SOURCES_MAX];
static unsigned kept_count;
static uint64_t open_count, replies;
static int epoll;
static char received[RECEIVE_BYTES];

static void fail(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

static const struct request_kind *kind_of(const struct client *client)
{
    return &plan.kinds[plan.requests[client->request].kind];
}

static void ask(struct client *client)
{
    const struct request_kind *kind = kind_of(client);

    client->head_read = false;
    if (send(client->descriptor, kind->text, kind->text_length, MSG_NOSIGNAL) != (ssize_t)kind->text_length)
        fail("cannot send a request in one piece");
}

static void end_session(struct client *client)
{
    open_count--;
    client->busy = false;
    if (kept_count < KEPT_MAX && network_reset(&network, client->descriptor)) {
        client->next = kept[client->source];
        kept[client->source] = client;
        kept_count++;
        return;
    }
    close(client->descriptor);
    free(client);
}

static void start_session(uint32_t session)
{
    size_t source = network.next_source;
    struct client *client = kept[source];
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET};
    bool made = client == NULL;

    if (made) {
        client = calloc(1, sizeof(*client));
        if (client == NULL || network_connect(&network, 0, &client->descriptor) != CONNECT_UNDER_WAY)
            fail("cannot connect");
        client->source = source;
    } else {
        kept[source] = client->next;
        kept_count--;
        if (network_connect_again(&network, client->descriptor) != CONNECT_UNDER_WAY)
            fail("cannot connect again");
    }
    while (!network_connected(client->descriptor))
        ; /* on the loopback it is, unless the kernel has put the packets off */
    client->request = session_first(&plan, session);
    client->last_request = client->request + session_length(&plan, session) - 1;
    client->busy = true;
    open_count++;
    ask(client);
    event.data.ptr = client;
    if (made && epoll_ctl(epoll, EPOLL_CTL_ADD, client->descriptor, &event) < 0)
        fail("epoll_ctl");
}

/* A reply has been read to its end. */
static void go_on(struct client *client)
{
    uint64_t think_ns = plan.requests[client->request].think_us * NS_PER_US;

    replies++;
    if (client->request++ == client->last_request)
        end_session(client);
    else if (think_ns == 0)
        ask(client);
    else
        alarm_heap_add(&pauses, &client->pause, clock_now_ns() + think_ns);
}

/* Returns whether to read on. */
static bool read_once(struct client *client)
{
    bool head = !client->head_read;
    size_t room = !head                                   ? client->body_left + 1
                  : kind_of(client)->size > RECEIVE_BYTES ? HEAD_BYTES
                                                          : RECEIVE_BYTES;
    ssize_t got = syscall(SYS_recvfrom, client->descriptor, head ? received : NULL, room,
                          head ? 0 : MSG_TRUNC, NULL, NULL);

    if (got < 0 && errno == EAGAIN)
        return false;
    if (got <= 0)
        fail("cannot receive a reply");
    if (head) {
        const char *end = memmem(received, (size_t)got, "\r\n\r\n", 4);
        if (end == NULL)
            fail("a head did not come in one piece");
        client->body_left = kind_of(client)->size + (uint64_t)(end + 4 - received);
        client->head_read = true;
    }
    client->body_left -= (uint64_t)got;
    if (client->body_left > 0)
        return (size_t)got == room;
    go_on(client);
    return false;
}

static void wait_until(int timer, uint64_t due_ns, uint64_t now_ns)
{
    static uint64_t set_ns;
    struct epoll_event events[EVENTS_MAX];

    if (due_ns > now_ns && !(set_ns > now_ns && set_ns <= due_ns)) {
        struct itimerspec moment = {
            .it_value = {.tv_sec = (time_t)(due_ns / NS_PER_S), .tv_nsec = (long)(due_ns % NS_PER_S)}};
        timerfd_settime(timer, TFD_TIMER_ABSTIME, &moment, NULL);
        set_ns = due_ns;
    }
    int count = epoll_wait(epoll, events, EVENTS_MAX, due_ns > now_ns ? 100 : 0);
    for (int i = 0; i < count; i++) {
        struct client *client = events[i].data.ptr;
        while (client != NULL && client->busy && client->pause.place == 0 && read_once(client))
            ;
    }
}

/* Returns how long it took, in nanoseconds. */
static uint64_t drive(double rate_rps, double seconds)
{
    uint64_t start_ns = clock_now_ns(), end_ns = start_ns + clock_seconds_to_ns(seconds);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    struct arrivals arrivals;

    if (timer < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event) < 0)
        fail("cannot make a timer");
    arrivals_init(&arrivals, ARRIVALS_DETERMINISTIC, NULL, rate_rps / sessions_mean_length(&plan), 1);
    for (;;) {
        uint64_t now_ns = clock_now_ns(), next_ns;
        while ((next_ns = start_ns + arrivals_next_ns(&arrivals)) <= now_ns && next_ns < end_ns) {
            start_session((uint32_t)(arrivals.index % plan.session_count));
            arrivals_advance(&arrivals);
        }
        for (struct alarm *first; (first = alarm_heap_first(&pauses)) != NULL && first->due_ns <= now_ns;) {
            alarm_heap_remove(&pauses, first);
            ask(container_of(first, struct client, pause));
        }
        if (next_ns >= end_ns && open_count == 0)
            return now_ns - start_ns;
        uint64_t due_ns = alarm_heap_due_ns(&pauses);
        wait_until(timer, next_ns < end_ns && next_ns < due_ns ? next_ns : due_ns, now_ns);
    }
}

int main(int count, char **arguments)
{
    struct request_form form = {.authority = "127.0.0.1"};
    struct sockaddr_storage server = {.ss_family = AF_INET};
    struct sockaddr_in *address = (struct sockaddr_in *)&server;
    struct rusage used;
    char error[256];
    FILE *log;

    if (count != 5 || (log = fopen(arguments[2], "re")) == NULL) {
        fprintf(stderr, "usage: do-nothing-client PORT LOG RATE_RPS SECONDS\n");
        return EXIT_FAILURE;
    }
    address->sin_port = htons((uint16_t)atoi(arguments[1]));
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    network.close_with_reset = true;
    if (!sessions_read(&plan, log, arguments[2], &form, error, sizeof(error)) ||
        !network_add_destination(&network, &server, sizeof(*address), "the server", error, sizeof(error))) {
        fprintf(stderr, "%s\n", error);
        return EXIT_FAILURE;
    }
    network_set_default_sources(&network);
    epoll = epoll_create1(0);
    if (epoll < 0)
        fail("epoll_create1");
    uint64_t took_ns = drive(atof(arguments[3]), atof(arguments[4]));
    getrusage(RUSAGE_SELF, &used);
    printf("{\"replied\": %llu, \"elapsed_s\": %.6f, \"cpu_s\": %.6f}\n", (unsigned long long)replies,
           (double)took_ns / 1e9,
           (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
               (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
    return 0;
}
