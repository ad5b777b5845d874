/*
 * See worker_processes.h.
 *
 * A worker that dies soon after its start is replaced only after a delay, which doubles each time, so that a
 * fault which kills every worker at once does not turn into a fork bomb.
 */
#include "httpd/process/worker_processes.h"

#include "common/clock.h"
#include "httpd/connection/access_log.h"
#include "httpd/connection/worker.h"
#include "httpd/io/control_socket.h"
#include "httpd/log.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SETTLED_NS       (10 * NS_PER_S) /* a worker that lived as long did not die of its start */
#define RESTART_DELAY_NS (100 * NS_PER_MS)
#define RESTART_MAX_NS   (5 * NS_PER_S)

bool worker_processes_open(struct master *master)
{
    master->workers = calloc(master->layout.processes, sizeof(*master->workers));
    master->wake_fds = calloc(master->layout.processes, sizeof(*master->wake_fds));
    if (!master->wake_fds)
        return false;
    for (; master->workers && master->worker_count < master->layout.processes; master->worker_count++) {
        const int wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

        if (wake_fd < 0)
            return false;
        master->wake_fds[master->worker_count] = wake_fd;
    }
    return master->workers != NULL;
}

void worker_processes_release(struct master *master)
{
    for (unsigned i = 0; i < master->worker_count; i++)
        close(master->wake_fds[i]);
    free(master->wake_fds);
    free(master->workers);
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
    worker->scoreboard = master->scoreboard;
    worker->log_rings = master->log_rings;
    worker->master = master_pid;
    worker->process = index;
    worker->copies = 1;
    worker_take_row(worker, index);
    worker->wake_fd = master->wake_fds[index];
    worker->wake_fds = master->wake_fds;
    worker->events = master->workers[index].events;
    choose_listeners(master, worker);
    exit(worker_run(worker));
}

/* Lets go of what only workers need which are to end: addresses to listen at, and roots. */
static void close_older_descriptors(const struct master *master)
{
    for (const struct master *older = master->older; older; older = older->older) {
        for (size_t i = 0; i < older->listener_count; i++) {
            if (older->listeners[i] >= 0)
                close(older->listeners[i]);
        }
        for (size_t i = 0; i < older->config->hosts.count; i++)
            close(older->config->hosts.all[i].fd);
        close(older->config->root);
    }
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
        access_log_close_in_child();
        close_older_descriptors(master);
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

void worker_processes_start(struct master *master)
{
    for (unsigned i = 0; i < master->worker_count; i++)
        start_worker(master, i);
}

void worker_processes_wake(struct master *master)
{
    const uint64_t one = 1;

    for (unsigned i = 0; i < master->worker_count; i++) {
        /* EAGAIN means that a wake-up is pending already. */
        if (write(master->wake_fds[i], &one, sizeof(one)) < 0 && errno != EAGAIN)
            log_errno("cannot wake worker %u", i);
    }
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
    worker_processes_wake(master); /* a client may wait of whom only this one had been told */
    if (now_ns - process->started_ns >= SETTLED_NS)
        process->delay_ns = 0;
    process->restart_ns = now_ns + process->delay_ns;
    if (WIFSIGNALED(status))
        log_warning("worker %u was killed by signal %d (%s); replaced in %.1f s", index, WTERMSIG(status),
                    strsignal(WTERMSIG(status)), (double)process->delay_ns / 1e9);
    else
        log_warning("worker %u ended with code %d; replaced in %.1f s", index, WEXITSTATUS(status),
                    (double)process->delay_ns / 1e9);
    process->delay_ns = process->delay_ns ? process->delay_ns * 2 : RESTART_DELAY_NS;
    if (process->delay_ns > RESTART_MAX_NS)
        process->delay_ns = RESTART_MAX_NS;
}

void worker_processes_reap(struct master *master, pid_t pid, int status)
{
    for (unsigned i = 0; i < master->worker_count; i++) {
        if (master->workers[i].pid == pid)
            worker_died(master, i, status);
    }
}

void worker_processes_end(struct master *master, bool closing_idle, uint64_t grace_ns)
{
    struct live_settings *settings = scoreboard_settings(master->scoreboard);

    master->shutting_down = true;
    master->kill_ns = clock_now_ns() + grace_ns;
    if (closing_idle) /* first: who sees that it is to end sees how */
        settings->closing_idle = true;
    settings->shutting_down = true;
    worker_processes_wake(master);
}

uint64_t worker_processes_manage(struct master *master)
{
    const uint64_t now_ns = clock_now_ns();
    uint64_t next_ns = master->shutting_down && worker_processes_left(master) ? master->kill_ns : UINT64_MAX;

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
    return next_ns;
}

bool worker_processes_left(const struct master *master)
{
    for (unsigned i = 0; i < master->worker_count; i++) {
        if (master->workers[i].pid != 0)
            return true;
    }
    return false;
}
