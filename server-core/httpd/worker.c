/*
 * See worker.h.
 */
#include "httpd/worker.h"

#include "common/affinity.h"
#include "common/clock.h"
#include "httpd/arch/architecture.h"
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
    signal(SIGPIPE, SIG_IGN);
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

static void pin(const struct worker *worker)
{
    const struct knob_value *cpus = &worker->config->values[KNOB_AFFINITY];

    if (cpus->count == 0)
        return;
    if (affinity_pin(cpus->cpus[worker->index % cpus->count]) != 0)
        log_errno("cannot be pinned to CPU %d", cpus->cpus[worker->index % cpus->count]);
}

void worker_refresh(struct worker *worker)
{
    const struct live_settings *settings = worker->settings;

    worker->now_ns = clock_now_ns();
    http_date_update(&worker->date, time(NULL));
    worker->max_connections = config_share(atomic_load(&settings->max_connections),
                                           config_integer(worker->config, KNOB_WORKERS), worker->index);
    worker->accept_limit = atomic_load(&settings->accept_limit);
    worker->sendfile = (enum sendfile_mode)atomic_load(&settings->sendfile);
    worker->keepalive_timeout_ns = atomic_load(&settings->keepalive_timeout_ns);
    worker->request_timeout_ns = atomic_load(&settings->request_timeout_ns);
    worker->shutting_down = atomic_load(&settings->shutting_down);
}

int worker_run(struct worker *worker)
{
    const struct architecture *architecture =
        architecture_at((size_t)config_integer(worker->config, KNOB_ARCHITECTURE));
    char name[32];
    int exit_code;

    snprintf(name, sizeof(name), "worker %u", worker->index);
    log_set_process(name);
    if (isolate(worker) != 0)
        return EXIT_RUNTIME;
    pin(worker);

    /* What the process that was here before had open is lost with it. */
    worker->counters->connections_closed_by_server += worker->counters->connections_open;
    worker->counters->connections_open = 0;

    worker->mechanism = event_mechanism_at((size_t)config_integer(worker->config, KNOB_EVENTS));
    worker->events = worker->mechanism->create();
    if (!worker->events) {
        log_errno("cannot make an event set");
        return EXIT_RUNTIME;
    }
    worker->cache =
        file_cache_create(config_text(worker->config, KNOB_ROOT),
                          (size_t)config_integer(worker->config, KNOB_CACHE_ENTRIES), worker->counters);
    if (!worker->cache) {
        log_errno("cannot open the root %s", config_text(worker->config, KNOB_ROOT));
        return EXIT_RUNTIME;
    }
    worker_refresh(worker);
    timers_init(&worker->timers, worker->now_ns);
    exit_code = architecture->run(worker);
    file_cache_destroy(worker->cache);
    worker->mechanism->destroy(worker->events);
    return exit_code;
}
