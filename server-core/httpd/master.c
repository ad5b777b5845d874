/*
 * See master.h.
 *
 * One poll loop: signals (as a descriptor), the stats socket and its clients, the access log, and the times
 * at which dead workers are to be replaced.
 */
#include "httpd/master.h"

#include "common/clock.h"
#include "httpd/access_log.h"
#include "httpd/control_socket.h"
#include "httpd/listeners.h"
#include "httpd/log.h"
#include "httpd/reload.h"
#include "httpd/stats.h"
#include "httpd/worker_processes.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE_NS (2 * NS_PER_S) /* to finish replies in */

static int open_signals(void)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGUSR1);
    if (sigprocmask(SIG_BLOCK, &signals, NULL) != 0)
        return -1;
    return signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
}

void master_shut_down(struct master *master)
{
    if (master->shutting_down)
        return;
    /* Ends the listening for all processes that share the sockets: whoever comes now is refused at once. */
    for (size_t i = 0; i < master->listener_count; i++)
        shutdown(master->listeners[i], SHUT_RD);
    for (; master; master = master->older)
        worker_processes_end(master, true, GRACE_NS);
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
            master_shut_down(master);
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

static void serve(struct master *master)
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
            master_shut_down(master);
        }
        if (polled[0].revents)
            read_signals(master);
        control_socket_serve(master, polled + 2, count - 2);
    }
}

void master_log_start(const struct master *master)
{
    const struct config *config = master->config;
    char addresses[512];

    knob_format(&KNOBS[KNOB_LISTEN], &config->values[KNOB_LISTEN], addresses, sizeof(addresses));
    log_line("ready: %s at %s, %s, %u process%s", config_text(config, KNOB_ROOT), addresses,
             master->architecture->name, master->worker_count, master->worker_count == 1 ? "" : "es");
}

/* Opens the access log, if there is to be one, and the rings to it. */
static bool open_access_log(struct master *master)
{
    const char *path = config_text(master->config, KNOB_ACCESS_LOG);

    if (!path)
        return true;
    master->log_rings = access_log_open(path) ? access_log_add_rings(master->layout.rows) : NULL;
    return master->log_rings != NULL;
}

bool master_open(struct master *master, const struct master *before)
{
    struct config *config = master->config;
    const struct open_listeners open = {
        .addresses = before ? &before->config->values[KNOB_LISTEN] : NULL,
        .sockets = before ? before->listeners : NULL,
        .sets = before ? before->layout.listener_sets : 0,
    };
    const size_t count = master->layout.listener_sets * config->values[KNOB_LISTEN].count;

    master->listeners = calloc(count, sizeof(*master->listeners));
    master->shared = shared_create(config, master->layout.rows);
    if (!master->listeners || !master->shared || !worker_processes_open(master)) {
        log_errno("cannot start");
        return false;
    }
    if (listeners_open(config, &master->layout, before ? &open : NULL, master->listeners) != 0)
        return false;
    master->listener_count = count;
    return (!master->architecture->prepare || master->architecture->prepare(master)) &&
           open_access_log(master);
}

void master_release(struct master *master)
{
    if (master->architecture->release)
        master->architecture->release(master);
    free(master->common);
    for (size_t i = 0; i < master->listener_count; i++) {
        if (master->listeners[i] >= 0)
            close(master->listeners[i]);
    }
    free(master->listeners);
    worker_processes_release(master);
    access_log_remove_rings(master->log_rings);
    if (master->shared)
        shared_destroy(master->shared);
    config_release(master->config);
    free(master->config);
}

int master_run(const struct config_source *source, struct config *config)
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

    if (!opened)
        log_errno("cannot take signals");
    /* In the order that users rely on: who can connect to the stats socket finds the listeners open. */
    opened = opened && master_open(&master, NULL) && (!socket_path || control_socket_open(socket_path) == 0);
    if (opened) {
        worker_processes_start(&master);
        master_log_start(&master);
        serve(&master);
        reload_clear_up(&master);
        control_socket_close();
    }
    stats_release(&master);
    master_release(&master);
    return opened ? EXIT_SUCCESS : EXIT_RUNTIME;
}
