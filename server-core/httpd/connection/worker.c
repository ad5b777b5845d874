/*
 * See worker.h.
 */
#include "httpd/connection/worker.h"
#include "httpd/connection/access_log.h"

#include "common/affinity.h"
#include "common/clock.h"
#include "httpd/cache/contents.h"
#include "httpd/cache/file_close.h"
#include "httpd/config/identity.h"
#include "httpd/config/sandbox.h"
#include "httpd/connection/driver.h"
#include "httpd/log.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

/* The master alone decides when to stop: signals to the whole process group (Ctrl-C) reach it too. */
static int isolate(const struct worker *worker)
{
    sigset_t none;

    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGUSR1, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL); /* the master blocks what it reads from its signalfd */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
        log_errno("cannot ask to die with the master");
        return -1;
    }
    if (getppid() != worker->master) /* it died before the request was made */
        return -1;
    return 0;
}

unsigned worker_shared_row(const struct worker *worker, unsigned row)
{
    return row * worker->copies + worker->copy;
}

struct counters *worker_counters(const struct worker *worker, unsigned row)
{
    return scoreboard_counters(worker->scoreboard, worker_shared_row(worker, row));
}

void worker_take_row(struct worker *worker, unsigned row)
{
    worker->row = row;
    worker->settings = scoreboard_settings(worker->scoreboard);
    worker->counters = worker_counters(worker, row);
    worker->service_time = scoreboard_service_time(worker->scoreboard, worker_shared_row(worker, row));
    worker->access_log = access_log_ring(worker->log_rings, worker_shared_row(worker, row));
}

struct worker *worker_new(const struct worker *like, unsigned row)
{
    struct worker *worker = calloc(1, sizeof(*worker));

    if (!worker)
        return NULL;
    worker->config = like->config;
    worker->architecture = like->architecture;
    worker->driver = like->driver;
    worker->layout = like->layout;
    worker->common = like->common;
    worker->scoreboard = like->scoreboard;
    worker->log_rings = like->log_rings;
    worker->master = like->master;
    worker->process = like->process;
    worker->listeners = like->listeners;
    worker->listener_count = like->listener_count;
    worker->wake_fd = like->wake_fd;
    worker->wake_fds = like->wake_fds;
    worker->table = like->table;
    worker->copies = like->copies;
    worker->copy = like->copy;
    worker->contents = like->contents;
    worker_take_row(worker, row);
    return worker;
}

void worker_pin(const struct worker *worker)
{
    const struct knob_value *cpus = &worker->config->values[KNOB_AFFINITY];
    const unsigned position = architecture_row(worker->config, worker->row).cpu_position;

    if (cpus->count == 0)
        return;
    if (affinity_pin(cpus->cpus[position % cpus->count]) != 0)
        log_errno("cannot be pinned to CPU %d", cpus->cpus[position % cpus->count]);
}

int64_t worker_connections_in_all(const struct worker *worker)
{
    return config_share(atomic_load(&worker->settings->max_connections), worker->copies, worker->copy);
}

void worker_refresh(struct worker *worker)
{
    const struct live_settings *settings = worker->settings;

    worker->now_ns = clock_now_ns();
    worker->begun_bytes = 0;
    http_date_update(&worker->date, time(NULL));
    worker->max_connections =
        worker->row < worker->layout.serving
            ? config_share(worker_connections_in_all(worker), worker->layout.serving, worker->row)
            : 0;
    worker->accept_limit = atomic_load(&settings->accept_limit);
    worker->sendfile = (enum sendfile_mode)atomic_load(&settings->sendfile);
    worker->keepalive_timeout_ns = atomic_load(&settings->keepalive_timeout_ns);
    worker->request_timeout_ns = atomic_load(&settings->request_timeout_ns);
    worker->min_bytes_per_s = atomic_load(&settings->min_bytes_per_s);
    worker->shutting_down = atomic_load(&settings->shutting_down);
    worker->closing_idle = atomic_load(&settings->closing_idle);
}

/* Makes the event set, unless the driver has connections wait in another way. */
static bool open_events(struct worker *worker)
{
    if (worker->driver->watch)
        return true;
    worker->mechanism = event_mechanism_at((size_t)config_integer(worker->config, KNOB_EVENTS));
    if (!worker->layout.shared_descriptors)
        worker->events = worker->mechanism->create();
    return worker->events != NULL;
}

static void close_events(struct worker *worker)
{
    if (worker->mechanism && !worker->layout.shared_descriptors)
        worker->mechanism->destroy(worker->events);
}

bool worker_open(struct worker *worker)
{
    if (!open_events(worker)) {
        log_errno("cannot make an event set");
        return false;
    }
    if (worker->table)
        worker->cache = file_cache_join(worker->table, worker->row, &worker->config->hosts,
                                        &worker->config->presentation, worker->counters);
    else
        worker->cache = file_cache_create(worker->config->root,
                                          (size_t)config_integer(worker->config, KNOB_CACHE_ENTRIES),
                                          config_cache_bytes(worker->config), &worker->config->hosts,
                                          &worker->config->presentation, worker->counters);
    if (!worker->cache) {
        log_errno("cannot make a cache");
        close_events(worker);
        return false;
    }
    file_close_set_aside(worker->driver->never_waits);
    worker_refresh(worker);
    timers_init(&worker->timers, worker->now_ns);
    return true;
}

void worker_close(struct worker *worker)
{
    file_cache_destroy(worker->cache);
    close_events(worker);
}

/* What the process that was here before had open is lost with it. */
static void forget_predecessor(const struct worker *worker)
{
    for (unsigned row = 0; row < worker->layout.rows; row++) {
        struct counters *counters = scoreboard_counters(worker->scoreboard, row);

        if (architecture_row(worker->config, row).process != worker->process)
            continue;
        counters->connections_closed_by_server += counters->connections_open;
        counters->connections_open = 0;
        counters->queue_length = 0;
    }
}

int worker_run(struct worker *worker)
{
    char name[32];
    int exit_code;

    snprintf(name, sizeof(name), "%s %u", architecture_row(worker->config, worker->row).role, worker->row);
    log_set_process(name);
    /* In this order: who becomes somebody else is forgotten to die with its parent. */
    if (!identity_assume(worker->config->identity) || isolate(worker) != 0)
        return EXIT_RUNTIME;
    worker_pin(worker);
    if (geteuid() != 0 && !sandbox_enter(worker->layout.has_rings))
        return EXIT_RUNTIME;
    forget_predecessor(worker);
    worker->contents = contents_cache_create(config_cache_bytes(worker->config));
    if (!worker->contents) {
        log_errno("cannot make the cache of contents");
        return EXIT_RUNTIME;
    }
    worker->driver = worker->architecture->driver ? worker->architecture->driver : &driver_usual;
    exit_code = worker->architecture->run(worker);
    contents_cache_destroy(worker->contents);
    return exit_code;
}
