/*
 * See master.h.
 *
 * One poll loop: signals (as a descriptor), the stats socket and its clients, and the times at which dead
 * workers are to be replaced. A worker that dies soon after its start is replaced only after a delay, which
 * doubles each time, so that a fault which kills every worker at once does not turn into a fork bomb.
 */
#include "httpd/master.h"

#include "common/clock.h"
#include "httpd/access_log.h"
#include "httpd/control_socket.h"
#include "httpd/listeners.h"
#include "httpd/log.h"
#include "httpd/stats.h"
#include "httpd/worker.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE_NS         (2 * NS_PER_S)  /* to finish replies in */
#define SETTLED_NS       (10 * NS_PER_S) /* a worker that lived as long did not die of its start */
#define RESTART_DELAY_NS (100 * NS_PER_MS)
#define RESTART_MAX_NS   (5 * NS_PER_S)

static int open_signals(bool takes_log_signals)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGCHLD);
    if (takes_log_signals) { /* the administrator has moved the access log away */
        sigaddset(&signals, SIGHUP);
        sigaddset(&signals, SIGUSR1);
    }
    if (sigprocmask(SIG_BLOCK, &signals, NULL) != 0)
        return -1;
    return signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
}

static void choose_listeners(const struct master *master, struct worker *worker)
{
    worker->listener_count = master->listener_count / master->layout.listener_sets;
    worker->listeners =
        master->listeners + worker->process % master->layout.listener_sets * worker->listener_count;
    if (master->architecture->choose_listeners)
        master->architecture->choose_listeners(master, worker);
}

static const struct event_mechanism *configured_mechanism(const struct config *config)
{
    return event_mechanism_at((size_t)config_integer(config, KNOB_EVENTS));
}

/* Runs in the new process and never returns. */
static void become_worker(const struct master *master, unsigned index, pid_t master_pid)
{
    struct worker *worker = calloc(1, sizeof(*worker));

    if (!worker)
        exit(EXIT_RUNTIME);
    worker->config = master->config;
    worker->architecture = master->architecture;
    worker->layout = master->layout;
    worker->common = master->common;
    worker->shared = master->shared;
    worker->log_rings = master->log_rings;
    worker->master = master_pid;
    worker->process = index;
    worker_take_row(worker, index);
    worker->wake_fd = master->workers[index].wake_fd;
    worker->events = master->workers[index].events;
    choose_listeners(master, worker);
    exit(worker_run(worker));
}

/* Forks. A child that shares our descriptors must leave them alone: what it closed would be closed for us. */
static pid_t spawn(const struct master *master)
{
    pid_t pid;

    if (master->layout.shared_descriptors)
        return (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0); /* fork(2) has no flags */
    pid = fork();
    if (pid == 0) {
        close(master->signals);
        control_socket_close_in_child();
    }
    return pid;
}

/* Gives back the event set that was made for a process that shares our descriptors. */
static void drop_events(const struct master *master, struct worker_process *process)
{
    if (process->events)
        configured_mechanism(master->config)->destroy(process->events);
    process->events = NULL;
}

static void start_worker(struct master *master, unsigned index)
{
    struct worker_process *process = &master->workers[index];
    const pid_t master_pid = getpid();
    pid_t pid;

    if (master->layout.shared_descriptors)
        process->events = configured_mechanism(master->config)->create();
    pid = spawn(master);
    if (pid == 0)
        become_worker(master, index, master_pid);
    if (pid < 0) {
        log_errno("cannot start worker %u", index);
        drop_events(master, process);
        process->restart_ns = clock_now_ns() + RESTART_MAX_NS;
        return;
    }
    process->pid = pid;
    process->started_ns = clock_now_ns();
}

/* Notes the death of a worker and when it is to be replaced. */
static void worker_died(struct master *master, unsigned index, int status)
{
    struct worker_process *process = &master->workers[index];
    const uint64_t now_ns = clock_now_ns();

    process->pid = 0;
    drop_events(master, process);
    if (master->shutting_down)
        return;
    if (master->architecture->bury)
        master->architecture->bury(master, index);
    if (now_ns - process->started_ns >= SETTLED_NS)
        process->delay_ns = 0;
    process->restart_ns = now_ns + process->delay_ns;
    if (WIFSIGNALED(status))
        log_line("worker %u was killed by signal %d (%s); replaced in %.1f s", index, WTERMSIG(status),
                 strsignal(WTERMSIG(status)), (double)process->delay_ns / 1e9);
    else
        log_line("worker %u ended with code %d; replaced in %.1f s", index, WEXITSTATUS(status),
                 (double)process->delay_ns / 1e9);
    process->delay_ns = process->delay_ns ? process->delay_ns * 2 : RESTART_DELAY_NS;
    if (process->delay_ns > RESTART_MAX_NS)
        process->delay_ns = RESTART_MAX_NS;
}

static void reap_workers(struct master *master)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (unsigned i = 0; i < master->worker_count; i++) {
            if (master->workers[i].pid == pid)
                worker_died(master, i, status);
        }
    }
}

void master_wake_workers(struct master *master)
{
    const uint64_t one = 1;

    for (unsigned i = 0; i < master->worker_count; i++) {
        /* EAGAIN means that a wake-up is pending already. */
        if (write(master->workers[i].wake_fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
            log_errno("cannot wake worker %u", i);
    }
}

void master_shut_down(struct master *master)
{
    if (master->shutting_down)
        return;
    master->shutting_down = true;
    master->kill_ns = clock_now_ns() + GRACE_NS;
    shared_settings(master->shared)->shutting_down = true;
    /* Ends the listening for all processes that share the sockets: whoever comes now is refused at once. */
    for (size_t i = 0; i < master->listener_count; i++)
        shutdown(master->listeners[i], SHUT_RD);
    master_wake_workers(master);
}

static void read_signals(struct master *master)
{
    struct signalfd_siginfo signal;

    while (read(master->signals, &signal, sizeof(signal)) == sizeof(signal)) {
        if (signal.ssi_signo == SIGCHLD)
            reap_workers(master);
        else if (signal.ssi_signo == SIGHUP || signal.ssi_signo == SIGUSR1)
            access_log_reopen();
        else
            master_shut_down(master);
    }
}

/* Replaces and kills what is due. Returns the milliseconds until the next such time; -1 if none is set. */
static int manage_workers(struct master *master)
{
    const uint64_t now_ns = clock_now_ns();
    uint64_t next_ns = master->shutting_down ? master->kill_ns : UINT64_MAX;

    for (unsigned i = 0; i < master->worker_count; i++) {
        struct worker_process *process = &master->workers[i];

        if (process->pid != 0) {
            if (master->shutting_down && now_ns >= master->kill_ns)
                kill(process->pid, SIGKILL);
        } else if (!master->shutting_down && now_ns >= process->restart_ns) {
            master->worker_restarts++;
            start_worker(master, i);
        }
        if (!master->shutting_down && process->pid == 0 && process->restart_ns < next_ns)
            next_ns = process->restart_ns;
    }
    if (next_ns == UINT64_MAX)
        return -1;
    return next_ns > now_ns ? (int)((next_ns - now_ns) / NS_PER_MS) + 1 : 1;
}

static bool any_worker_left(const struct master *master)
{
    for (unsigned i = 0; i < master->worker_count; i++) {
        if (master->workers[i].pid != 0)
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

static bool open_worker_table(struct master *master)
{
    master->worker_count = master->layout.processes;
    master->workers = calloc(master->worker_count, sizeof(*master->workers));
    for (unsigned i = 0; master->workers && i < master->worker_count; i++) {
        master->workers[i].wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (master->workers[i].wake_fd < 0)
            return false;
    }
    return master->workers != NULL;
}

static void log_start(const struct master *master)
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

/* Opens everything, in the order that users rely on: who can connect to the stats socket finds the listeners
 * open. Logs what is wrong and returns false. */
static bool open_all(struct master *master)
{
    struct config *config = master->config;
    const char *socket_path = config_text(config, KNOB_STATS_SOCKET);

    master->signals = open_signals(config_text(config, KNOB_ACCESS_LOG) != NULL);
    master->listener_count = master->layout.listener_sets * config->values[KNOB_LISTEN].count;
    master->listeners = calloc(master->listener_count, sizeof(*master->listeners));
    master->shared = shared_create(config, master->layout.rows);
    if (master->signals < 0 || !master->listeners || !master->shared || !open_worker_table(master)) {
        log_errno("cannot start");
        return false;
    }
    return open_access_log(master) &&
           listeners_open(config, master->layout.listener_sets, master->listeners) == 0 &&
           (!master->architecture->prepare || master->architecture->prepare(master)) &&
           (!socket_path || control_socket_open(socket_path) == 0);
}

int master_run(struct config *config)
{
    struct master master = {
        .config = config,
        .architecture = architecture_of(config),
        .layout = architecture_layout(config),
        .started_ns = clock_now_ns(),
    };
    const bool opened = open_all(&master);

    if (opened) {
        for (unsigned i = 0; i < master.worker_count; i++)
            start_worker(&master, i);
        log_start(&master);
        serve(&master);
        access_log_remove_rings(master.log_rings);
        control_socket_close();
    }
    /* Descriptors and mappings end with the process. */
    stats_release(&master);
    free(master.common);
    free(master.listeners);
    free(master.workers);
    return opened ? EXIT_SUCCESS : EXIT_RUNTIME;
}
