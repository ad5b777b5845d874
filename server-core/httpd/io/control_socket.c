/*
 * See control_socket.h.
 */
#include "httpd/io/control_socket.h"

#include "common/clock.h"
#include "httpd/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LINE_MAX_BYTES 1024
#define PATH_BYTES_MAX (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)
#define BACK_OFF_MS    100 /* when descriptors or memory have run out */

struct client {
    int fd; /* -1: free place */
    uint64_t active_ns;
    char line[LINE_MAX_BYTES + 1]; /* received, not yet a whole line */
    size_t line_length;
    char *answer; /* being sent; no command is read meanwhile */
    size_t answer_length, answer_sent;
    bool closing; /* after the answer */
};

/* Who carries out commands. */
struct interpreter {
    void (*execute)(void *user, char *line, FILE *out);
    void *user;
};

static int listener = -1;
static char *socket_path;
static struct stat socket_file; /* to remove at the end what we made, and not what another put in its place */
static struct client clients[CONTROL_CLIENTS_MAX];
static uint64_t back_off_until_ns; /* nobody is accepted before */

bool control_socket_can_be_at(const char *path)
{
    const char *slash = strrchr(path, '/');

    return strlen(path) <= PATH_BYTES_MAX || (slash && strlen(slash + 1) <= CONTROL_SOCKET_NAME_MAX);
}

/* Writes the address of the socket at `path`, and a descriptor of its directory if that needs one, to be
 * closed after use, or -1. Returns false with errno on failure. */
static bool make_address(const char *path, struct sockaddr_un *address, int *directory)
{
    const char *slash = strrchr(path, '/');
    char *above;

    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    *directory = -1;
    if (strlen(path) <= PATH_BYTES_MAX) {
        strcpy(address->sun_path, path);
        return true;
    }
    above = strndup(path, (size_t)(slash - path));
    if (above)
        *directory = open(above, O_PATH | O_DIRECTORY | O_CLOEXEC);
    free(above);
    snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/%.*s", *directory,
             CONTROL_SOCKET_NAME_MAX, slash + 1);
    return *directory >= 0;
}

/* Removes a socket at which nobody answers. Returns -1 when something else is in the way. */
static int remove_stale(const char *path, const struct sockaddr_un *address)
{
    struct stat status;
    int probe, connected;

    if (lstat(path, &status) != 0)
        return errno == ENOENT ? 0 : -1;
    if (!S_ISSOCK(status.st_mode)) {
        errno = EEXIST;
        return -1;
    }
    probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0)
        return -1;
    connected = connect(probe, (const struct sockaddr *)address, sizeof(*address));
    if (connected != 0 && errno == ECONNREFUSED)
        connected = unlink(path);
    else if (connected == 0 || errno == EAGAIN) { /* EAGAIN: its queue is full, but it lives */
        errno = EADDRINUSE;
        connected = -1;
    }
    close(probe);
    return connected;
}

/* Makes the socket, so that it never exists with another mode than 0600. */
static int bind_listener(const struct sockaddr_un *address)
{
    const mode_t mask = umask(0177);
    int bound;

    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bound = listener < 0 ? -1 : bind(listener, (const struct sockaddr *)address, sizeof(*address));
    umask(mask);
    return bound;
}

/* Makes the socket and listens there. Logs what is wrong and returns false. */
static bool begin(const char *path, const struct sockaddr_un *address)
{
    if (remove_stale(path, address) != 0) {
        log_error("cannot make the stats socket %s: %s", path,
                  errno == EADDRINUSE ? "another server answers there"
                  : errno == EEXIST   ? "something else has this name"
                                      : strerror(errno));
        return false;
    }
    if (bind_listener(address) == 0 && listen(listener, CONTROL_CLIENTS_MAX) == 0 &&
        stat(path, &socket_file) == 0)
        return true;
    log_errno("cannot make the stats socket %s", path);
    return false;
}

int control_socket_open(const char *path)
{
    struct sockaddr_un address;
    bool begun = false;
    int directory;

    for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++)
        clients[i].fd = -1;
    socket_path = strdup(path);
    if (socket_path && make_address(path, &address, &directory)) {
        begun = begin(path, &address);
        if (directory >= 0)
            close(directory);
    } else {
        log_errno("cannot make the stats socket %s", path);
    }
    return begun ? 0 : -1;
}

static void disconnect(struct client *client)
{
    close(client->fd);
    free(client->answer);
    *client = (struct client){.fd = -1};
}

void control_socket_close_in_child(void)
{
    if (listener < 0)
        return;
    close(listener);
    for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
        if (clients[i].fd >= 0)
            close(clients[i].fd);
    }
}

/* Sends what the socket takes of the answer. */
static void send_answer(struct client *client)
{
    const ssize_t sent = send(client->fd, client->answer + client->answer_sent,
                              client->answer_length - client->answer_sent, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (sent < 0) {
        if (errno != EAGAIN && errno != EINTR)
            disconnect(client);
        return;
    }
    client->active_ns = clock_now_ns();
    client->answer_sent += (size_t)sent;
    if (client->answer_sent < client->answer_length)
        return;
    free(client->answer);
    client->answer = NULL;
    if (client->closing)
        disconnect(client);
}

/* Carries out one line, or complains about one that is too long, and begins to send the answer. */
static void answer(const struct interpreter *interpreter, struct client *client, char *line)
{
    FILE *out = open_memstream(&client->answer, &client->answer_length);

    if (!out) {
        disconnect(client);
        return;
    }
    interpreter->execute(interpreter->user, line, out);
    client->closing = !line;
    if (fclose(out) != 0) {
        disconnect(client);
        return;
    }
    client->answer_sent = 0;
    send_answer(client);
}

/* Carries out the whole lines that are there, until an answer has to wait for its client. */
static void answer_lines(const struct interpreter *interpreter, struct client *client)
{
    while (client->fd >= 0 && !client->answer) {
        char *line_feed = memchr(client->line, '\n', client->line_length);
        char line[LINE_MAX_BYTES + 1];
        size_t length;

        if (!line_feed) {
            if (client->line_length >= LINE_MAX_BYTES)
                answer(interpreter, client, NULL);
            return;
        }
        length = (size_t)(line_feed - client->line);
        memcpy(line, client->line, length);
        line[length] = '\0';
        line[strcspn(line, "\r")] = '\0';
        client->line_length -= length + 1;
        memmove(client->line, line_feed + 1, client->line_length);
        answer(interpreter, client, line);
    }
}

static void receive(const struct interpreter *interpreter, struct client *client)
{
    const ssize_t received = recv(client->fd, client->line + client->line_length,
                                  LINE_MAX_BYTES - client->line_length, MSG_DONTWAIT);

    if (received == 0 || (received < 0 && errno != EAGAIN && errno != EINTR)) {
        disconnect(client);
        return;
    }
    if (received > 0) {
        client->line_length += (size_t)received;
        client->active_ns = clock_now_ns();
        answer_lines(interpreter, client);
    }
}

/* Finds a place for a new client: a free one, or that of the client which has been silent longest. */
static struct client *find_place(void)
{
    struct client *place = &clients[0];

    for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
        if (clients[i].fd < 0)
            return &clients[i];
        if (clients[i].active_ns < place->active_ns)
            place = &clients[i];
    }
    disconnect(place);
    return place;
}

static void accept_client(void)
{
    const int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct client *client;

    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            log_errno("cannot accept a client of the stats socket (trying again in %d ms)", BACK_OFF_MS);
            back_off_until_ns = clock_now_ns() + BACK_OFF_MS * NS_PER_MS;
        }
        return;
    }
    client = find_place();
    client->fd = fd;
    client->active_ns = clock_now_ns();
}

nfds_t control_socket_watch(struct pollfd *polled, int *timeout_ms)
{
    const bool backing_off = clock_now_ns() < back_off_until_ns;
    nfds_t count = 0;

    if (listener < 0)
        return 0;
    polled[count++] = (struct pollfd){.fd = backing_off ? -1 : listener, .events = POLLIN};
    for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++)
        polled[count++] =
            (struct pollfd){.fd = clients[i].fd, .events = clients[i].answer ? POLLOUT : POLLIN};
    if (backing_off && (*timeout_ms < 0 || *timeout_ms > BACK_OFF_MS))
        *timeout_ms = BACK_OFF_MS;
    return count;
}

void control_socket_serve(const struct pollfd *polled, nfds_t count,
                          void (*execute)(void *user, char *line, FILE *out), void *user)
{
    const struct interpreter interpreter = {execute, user};

    for (nfds_t i = 1; i < count; i++) {
        struct client *client = &clients[i - 1];

        if (!polled[i].revents || client->fd < 0)
            continue;
        if (client->answer) {
            send_answer(client);
            answer_lines(&interpreter, client);
        } else {
            receive(&interpreter, client);
        }
    }
    if (count > 0 && polled[0].revents)
        accept_client();
}

void control_socket_close(void)
{
    struct stat status;

    if (listener < 0)
        return;
    for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
        if (clients[i].fd >= 0)
            disconnect(&clients[i]);
    }
    if (stat(socket_path, &status) == 0 && status.st_ino == socket_file.st_ino &&
        status.st_dev == socket_file.st_dev)
        unlink(socket_path);
    free(socket_path);
    close(listener);
    listener = -1;
}
