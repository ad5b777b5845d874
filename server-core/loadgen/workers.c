/*
 * See workers.h.
 */
#include "workers.h"

#include "common/affinity.h"
#include "common/clock.h"
#include "load_loop.h"
#include "memory.h"
#include "open_sessions.h"
#include "report.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRESS_INTERVAL_NS NS_PER_S

static const char *const window_edges[] = {"begin", "end"};
#define WINDOW_EDGES (sizeof(window_edges) / sizeof(*window_edges))

/* The run begins this long after the first fork, so that all workers are there when the first arrival is due:
 * a fork takes some 0.2 ms. */
#define START_DELAY_NS(workers) (5 * NS_PER_MS + (workers) * NS_PER_MS)

/* What one worker leaves in shared memory; its account follows. */
struct worker_record {
    struct load_loop_end end;
    uint64_t account[];
};

/* Memory that parent and workers share. */
struct shared {
    volatile bool stop;
    uint64_t records[];
};

struct worker {
    pid_t pid;
    int exit_descriptor; /* pidfd, readable when the worker has ended; -1 after that */
    struct worker_record *record;
    struct account *account;
};

struct watch {
    const struct workers_run *run;
    struct shared *shared;
    struct worker *workers;
    unsigned count;
    unsigned running;
    uint64_t start_ns;
    /* Progress: what the line before had counted. */
    struct progress last;
    struct histogram *last_us;
    struct histogram *interval_us;
    uint64_t last_bytes;
    uint64_t next_progress_ns;
    /* The goodput window: its edges, and how many of them have been told. */
    uint64_t edges_ns[WINDOW_EDGES];
    unsigned edges_told;
};

static size_t record_bytes(void)
{
    return sizeof(struct worker_record) + account_bytes();
}

/* The life of a worker process. Returns its exit status. */
static int work(const struct watch *watch, unsigned number)
{
    struct worker *self = &watch->workers[number];
    struct connections *all = watch->run->all;
    const struct options *options = watch->run->options;

    if (watch->run->cpu_count > 0 && affinity_pin(watch->run->cpus[number % watch->run->cpu_count]) < 0) {
        fprintf(stderr, "trimtab-load: --cpus: cannot pin a process to CPU %d: %s\n",
                watch->run->cpus[number % watch->run->cpu_count], strerror(errno));
        return 1;
    }
    all->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (all->epoll < 0) {
        fprintf(stderr, "trimtab-load: epoll is not to be had: %s\n", strerror(errno));
        return 1;
    }
    int timer = load_loop_make_timer(all->epoll);
    if (timer < 0) {
        fprintf(stderr, "trimtab-load: a timer is not to be had: %s\n", strerror(errno));
        return 1;
    }
    all->account = self->account;
    /* Worker w of all machines' W has every W-th arrival, from the w-th on: whatever the machines have of
     * processes, together they start what one would. */
    unsigned worker = (unsigned)options->machine + (unsigned)options->machines * number;
    connections_init(all, worker);
    struct load_loop loop = {.options = options,
                             .all = all,
                             .timer = timer,
                             .trace = watch->run->trace,
                             .stop = &watch->shared->stop,
                             .start_ns = watch->start_ns,
                             .worker = worker,
                             .workers = (unsigned)options->machines * watch->count};
    self->record->end = load_loop_run(&loop);
    connections_free(all);
    close(timer);
    close(all->epoll);
    return 0;
}

/* Signals are the parent's to handle: it raises the stop flag. To a closed connection OpenSSL writes with
 * write(2), which has no MSG_NOSIGNAL. */
static void ignore_signals(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
}

static bool start_worker(struct watch *watch, unsigned number)
{
    struct worker *worker = &watch->workers[number];
    pid_t parent = getpid();

    worker->pid = fork();
    if (worker->pid < 0)
        return false;
    if (worker->pid == 0) {
        ignore_signals();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1); /* the parent died before the line above */
        _exit(work(watch, number));
    }
    worker->exit_descriptor = (int)syscall(SYS_pidfd_open, worker->pid, 0);
    if (worker->exit_descriptor < 0) {
        int error = errno;
        kill(worker->pid, SIGKILL);
        waitpid(worker->pid, NULL, 0);
        errno = error;
        return false;
    }
    watch->running++;
    return true;
}

/* Reads what the workers have counted so far. Each counter is a whole word that one of them writes, so a line
 * may lag behind, and is never wrong by more than what has happened meanwhile. */
static void print_progress(struct watch *watch, uint64_t now_ns)
{
    struct progress progress = {.elapsed_s = (double)(now_ns - watch->start_ns) / 1e9};
    uint64_t bytes = 0;

    histogram_clear(watch->interval_us);
    for (unsigned i = 0; i < watch->count; i++) {
        const struct account *account = watch->workers[i].account;
        uint64_t ended = account_ended_sessions(account);
        uint64_t started = account->sessions_started;
        progress.sessions_open += started > ended ? started - ended : 0;
        progress.requests_replied += account->requests[OUTCOME_REPLIED];
        progress.requests_timed_out += account_timed_out_requests(account);
        bytes += account->replied_bytes;
        histogram_merge(watch->interval_us, account->progress_us);
    }
    histogram_subtract(watch->interval_us, watch->last_us);
    progress.reply_us = watch->interval_us;
    progress.interval_s = progress.elapsed_s - watch->last.elapsed_s;
    progress.interval_replies = progress.requests_replied - watch->last.requests_replied;
    progress.interval_bytes = bytes - watch->last_bytes;
    if (watch->run->options->text)
        report_progress_text(watch->run->out, &progress);
    else
        report_progress(watch->run->out, &progress);
    fflush(watch->run->out);
    histogram_merge(watch->last_us, watch->interval_us);
    watch->last = progress;
    watch->last_bytes = bytes;
}

/* Tells the edges of the goodput window up to `until_ns`. They come on time and apart from progress: whoever
 * counts something else in the same window goes by them. */
static void print_edges(struct watch *watch, uint64_t until_ns)
{
    while (watch->edges_told < WINDOW_EDGES && until_ns >= watch->edges_ns[watch->edges_told]) {
        if (!watch->run->options->text)
            report_window(watch->run->out, window_edges[watch->edges_told],
                          (double)(clock_now_ns() - watch->start_ns) / 1e9);
        watch->edges_told++;
        fflush(watch->run->out);
    }
}

/* When the next line is due. */
static uint64_t next_line_ns(const struct watch *watch)
{
    if (watch->edges_told < WINDOW_EDGES && watch->edges_ns[watch->edges_told] < watch->next_progress_ns)
        return watch->edges_ns[watch->edges_told];
    return watch->next_progress_ns;
}

/* Says how a worker ended. Returns false when it should not have ended like that. */
static bool reap(struct watch *watch, struct worker *worker, char *error, size_t error_size)
{
    int status;

    close(worker->exit_descriptor);
    worker->exit_descriptor = -1;
    watch->running--;
    if (waitpid(worker->pid, &status, 0) == worker->pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    if (WIFSIGNALED(status))
        snprintf(error, error_size, "a worker process was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(error, error_size, "a worker process ended with status %d", WEXITSTATUS(status));
    return false;
}

/* Waits for the workers, printing progress and the window's edges. Returns false when one of them failed. */
static bool await_workers(struct watch *watch, char *error, size_t error_size)
{
    struct pollfd *exits = memory_needed(calloc(watch->count, sizeof(*exits)));
    bool ok = true;

    while (watch->running > 0 && ok) {
        uint64_t now_ns = clock_now_ns();
        print_edges(watch, now_ns);
        if (now_ns >= watch->next_progress_ns) {
            print_progress(watch, now_ns);
            while (watch->next_progress_ns <= now_ns)
                watch->next_progress_ns += PROGRESS_INTERVAL_NS;
        }
        for (unsigned i = 0; i < watch->count; i++)
            exits[i] = (struct pollfd){.fd = watch->workers[i].exit_descriptor, .events = POLLIN};
        uint64_t wait_ns = next_line_ns(watch) - now_ns;
        struct timespec wait = {.tv_sec = (time_t)(wait_ns / NS_PER_S),
                                .tv_nsec = (long)(wait_ns % NS_PER_S)};
        watch->shared->stop = *watch->run->signal_number != 0;
        int ready = ppoll(exits, watch->count, &wait, watch->run->waiting_mask);
        for (unsigned i = 0; i < watch->count && ready > 0; i++)
            if (exits[i].fd >= 0 && exits[i].revents != 0)
                ok = reap(watch, &watch->workers[i], error, error_size) && ok;
    }
    free(exits);
    /* With its last session a run is over, be it a moment before the end of the window. */
    if (ok && *watch->run->signal_number == 0)
        print_edges(watch, watch->edges_ns[WINDOW_EDGES - 1]);
    return ok;
}

static void kill_workers(struct watch *watch)
{
    for (unsigned i = 0; i < watch->count; i++)
        if (watch->workers[i].exit_descriptor >= 0) {
            kill(watch->workers[i].pid, SIGKILL);
            waitpid(watch->workers[i].pid, NULL, 0);
            close(watch->workers[i].exit_descriptor);
        }
}

/* Sets the moment at which the run begins. Returns false when that which was asked for has come too near:
 * whoever shares the load begins without this machine then. */
static bool set_start(struct watch *watch, char *error, size_t error_size)
{
    uint64_t asked_ns = watch->run->options->start_at_ns;
    uint64_t earliest_ns = clock_now_ns() + START_DELAY_NS(watch->count);

    watch->start_ns = asked_ns == 0 ? earliest_ns : asked_ns;
    if (watch->start_ns >= earliest_ns)
        return true;
    snprintf(error, error_size,
             "--start-at: expected a moment at least %.0f ms from now, this one is %.0f ms off",
             (double)START_DELAY_NS(watch->count) / 1e6,
             ((double)asked_ns - (double)earliest_ns) / 1e6 + (double)START_DELAY_NS(watch->count) / 1e6);
    return false;
}

/* Gets memory and accounts ready. */
static struct shared *prepare(struct watch *watch, size_t bytes)
{
    const struct options *options = watch->run->options;
    struct shared *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (shared == MAP_FAILED)
        memory_needed(NULL);
    watch->next_progress_ns = watch->start_ns + PROGRESS_INTERVAL_NS;
    watch->edges_ns[0] = watch->start_ns + clock_seconds_to_ns(options->warmup_s);
    watch->edges_ns[1] = watch->start_ns + clock_seconds_to_ns(options->duration_s);
    for (unsigned i = 0; i < watch->count; i++) {
        struct worker *worker = &watch->workers[i];
        worker->exit_descriptor = -1;
        worker->record = (struct worker_record *)((char *)shared->records + i * record_bytes());
        worker->account = account_init(worker->record->account, watch->edges_ns[0], watch->edges_ns[1]);
    }
    return shared;
}

bool workers_run(const struct workers_run *run, struct workers_end *end, char *error, size_t error_size)
{
    unsigned count = (unsigned)run->options->processes;
    struct watch watch = {
        .run = run,
        .workers = memory_needed(calloc(count, sizeof(*watch.workers))),
        .count = count,
        .last_us = memory_needed(histogram_new(HISTOGRAM_PRECISION_3_DIGITS)),
        .interval_us = memory_needed(histogram_new(HISTOGRAM_PRECISION_3_DIGITS)),
    };
    size_t bytes = sizeof(struct shared) + count * record_bytes();
    bool ok = true;

    *end = (struct workers_end){0};
    if (!set_start(&watch, error, error_size)) {
        free(watch.workers);
        free(watch.last_us);
        free(watch.interval_us);
        return false;
    }
    watch.shared = prepare(&watch, bytes);
    fflush(NULL); /* or every worker would write it again */
    for (unsigned i = 0; i < count && ok; i++)
        if (!start_worker(&watch, i)) {
            snprintf(error, error_size, "a worker process could not be started: %s", strerror(errno));
            ok = false;
        }
    ok = ok && await_workers(&watch, error, error_size);
    if (!ok)
        kill_workers(&watch);

    *end = (struct workers_end){.start_ns = watch.start_ns};
    if (ok) {
        end->total =
            account_new(watch.workers[0].account->warmup_end_ns, watch.workers[0].account->window_end_ns);
        for (unsigned i = 0; i < count; i++) {
            const struct load_loop_end *one = &watch.workers[i].record->end;
            account_merge(end->total, watch.workers[i].account);
            end->end_ns = one->end_ns > end->end_ns ? one->end_ns : end->end_ns;
            end->cpu_share = one->cpu_share > end->cpu_share ? one->cpu_share : end->cpu_share;
        }
    }
    munmap(watch.shared, bytes);
    free(watch.workers);
    free(watch.last_us);
    free(watch.interval_us);
    return ok;
}
