/*
 * See serve.h.
 *
 * One poll loop: signals (as a descriptor), the stats socket and its clients, the access log, and the times
 * at which dead workers are to be replaced.
 */
#include "httpd/serve.h"

#include "common/clock.h"
#include "httpd/connection/access_log.h"
#include "httpd/control/control.h"
#include "httpd/io/control_socket.h"
#include "httpd/log.h"
#include "httpd/process/activation.h"
#include "httpd/process/reload.h"
#include "httpd/process/service.h"
#include "httpd/process/worker_processes.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Takes the signals that mean something. Two would end the master, and the workers with it, for what is a
 * mistake of a write: stderr or the access log leads to a pipe whose reader has gone, or to a file that may
 * not grow. Workers inherit that they are ignored. */
static int open_signals(void)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGUSR1);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    if (sigprocmask(SIG_BLOCK, &signals, NULL) != 0)
        return -1;
    return signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
}

static void reap_workers(struct master *master)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (struct master *each = master; each; each = each->older)
            worker_processes_reap(each, pid, status);
    }
    reload_clear_up(master);
}

static void read_signals(struct master *master)
{
    struct signalfd_siginfo signal;

    while (read(master->signals, &signal, sizeof(signal)) == sizeof(signal)) {
        switch (signal.ssi_signo) {
        case SIGCHLD:
            reap_workers(master);
            break;
        case SIGHUP:
            if (!master->shutting_down)
                reload(master);
            break;
        case SIGUSR1: /* the administrator has moved the access log away */
            access_log_reopen();
            break;
        default:
            service_shut_down(master);
            break;
        }
    }
}

/* Replaces and kills what is due. Returns the milliseconds until the next such time; -1 if none is set. */
static int manage_workers(struct master *master)
{
    const uint64_t now_ns = clock_now_ns();
    uint64_t next_ns = UINT64_MAX;

    for (; master; master = master->older) {
        const uint64_t its_next_ns = worker_processes_manage(master);

        if (its_next_ns < next_ns)
            next_ns = its_next_ns;
    }
    if (next_ns == UINT64_MAX)
        return -1;
    return next_ns > now_ns ? (int)((next_ns - now_ns) / NS_PER_MS) + 1 : 1;
}

static bool any_worker_left(const struct master *master)
{
    for (; master; master = master->older) {
        if (worker_processes_left(master))
            return true;
    }
    return false;
}

static void execute(void *master, char *line, FILE *out)
{
    control_execute(master, line, out);
}

static void run(struct master *master)
{
    struct pollfd polled[3 + CONTROL_CLIENTS_MAX] = {{.fd = master->signals, .events = POLLIN}};

    while (!master->shutting_down || any_worker_left(master)) {
        int timeout_ms = manage_workers(master);
        const nfds_t count = 2 + control_socket_watch(polled + 2, &timeout_ms);

        polled[1] = (struct pollfd){.fd = access_log_wake_fd(), .events = POLLIN};
        if (access_log_is_open()) {
            access_log_collect();
            if (timeout_ms < 0 || timeout_ms > ACCESS_LOG_INTERVAL_MS)
                timeout_ms = ACCESS_LOG_INTERVAL_MS;
        }
        if (poll(polled, count, timeout_ms) < 0 && errno != EINTR) {
            log_errno("cannot poll");
            service_shut_down(master);
        }
        if (polled[0].revents)
            read_signals(master);
        control_socket_serve(polled + 2, count - 2, execute, master);
    }
}

int serve(const struct config_source *source, struct config *config)
{
    struct master master = {
        .source = source,
        .config = config,
        .architecture = architecture_of(config),
        .layout = architecture_layout(config),
        .signals = open_signals(),
        .started_ns = clock_now_ns(),
    };
    const char *socket_path = config_text(config, KNOB_STATS_SOCKET);
    bool opened = master.signals >= 0;

    log_begin();
    if (!opened)
        log_errno("cannot take signals");
    /* In the order that users rely on: who can connect to the stats socket finds the listeners open. */
    opened = opened && activation_open() && service_open(&master, NULL) &&
             (!socket_path || control_socket_open(socket_path) == 0);
    if (opened) {
        worker_processes_start(&master);
        service_log_start(&master);
        run(&master);
        reload_clear_up(&master);
        control_socket_close();
    }
    service_release(&master);
    return opened ? EXIT_SUCCESS : EXIT_RUNTIME;
}
