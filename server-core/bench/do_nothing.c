/*
 * The limit of what an event-driven server on epoll can reach: it accepts, and answers whatever it reads with
 * a fixed buffer. No parsing, no files, no timeouts, no statistics. What a real server spends on top of this
 * is its own.
 *
 * Usage: do-nothing PORT BYTES   answers with a reply of BYTES of body on 127.0.0.1:PORT, until it is killed
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS_MAX  1024
#define INPUT_BYTES 16384

static void fail(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

static int listen_on(int port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) != 0 ||
        bind(listener, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(listener, 4096) != 0)
        fail("cannot listen");
    return listener;
}

int main(int count, char **arguments)
{
    static char input[INPUT_BYTES];
    struct epoll_event events[EVENTS_MAX];
    int listener, epoll;
    size_t body_bytes, head_bytes;
    char *reply;

    if (count != 3) {
        fprintf(stderr, "usage: do-nothing PORT BYTES\n");
        return EXIT_FAILURE;
    }
    body_bytes = strtoul(arguments[2], NULL, 10);
    reply = calloc(1, body_bytes + 256);
    if (!reply)
        fail("no memory");
    head_bytes = (size_t)sprintf(
        reply, "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: %zu\r\n\r\n",
        body_bytes);
    listener = listen_on(atoi(arguments[1]));
    epoll = epoll_create1(0);
    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, listener,
                               &(struct epoll_event){.events = EPOLLIN, .data.fd = listener}))
        fail("cannot use epoll");
    for (;;) {
        const int ready = epoll_wait(epoll, events, EVENTS_MAX, -1);

        if (ready < 0 && errno != EINTR)
            fail("cannot wait for events");
        for (int i = 0; i < ready; i++) {
            const int fd = events[i].data.fd;

            if (fd == listener) {
                int peer;

                while ((peer = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0)
                    epoll_ctl(epoll, EPOLL_CTL_ADD, peer,
                              &(struct epoll_event){.events = EPOLLIN | EPOLLET, .data.fd = peer});
            } else if (read(fd, input, sizeof(input)) <= 0) {
                close(fd);
            } else if (write(fd, reply, head_bytes + body_bytes) < 0) {
                close(fd);
            }
        }
    }
}
