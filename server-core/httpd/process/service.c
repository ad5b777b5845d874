/*
 * See service.h.
 */
#include "httpd/process/service.h"

#include "common/clock.h"
#include "httpd/connection/access_log.h"
#include "httpd/log.h"
#include "httpd/process/activation.h"
#include "httpd/process/listeners.h"
#include "httpd/process/notify.h"
#include "httpd/process/worker_processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define GRACE_NS (2 * NS_PER_S) /* to finish replies in */

void service_shut_down(struct master *master)
{
    if (master->shutting_down)
        return;
    notify_stopping();
    for (size_t i = 0; i < master->listener_count; i++)
        listener_end(master->listeners[i]);
    for (; master; master = master->older)
        worker_processes_end(master, true, GRACE_NS);
}

void service_log_start(const struct master *master)
{
    const struct config *config = master->config;
    char addresses[512], status[1024];

    knob_format(&KNOBS[KNOB_LISTEN], &config->values[KNOB_LISTEN], addresses, sizeof(addresses));
    snprintf(status, sizeof(status), "%s at %s, %s, %u process%s", config_text(config, KNOB_ROOT), addresses,
             master->architecture->name, master->worker_count, master->worker_count == 1 ? "" : "es");
    log_notice("ready: %s", status);
    notify_ready(status);
}

/* Opens the access log, if there is to be one, and the rings to it. */
static bool open_access_log(struct master *master)
{
    const char *path = config_text(master->config, KNOB_ACCESS_LOG);

    if (!path)
        return true;
    /* In this order: until nothing can go wrong any more, an earlier file stays. */
    master->log_rings = access_log_add_rings(master->layout.rows, master->scoreboard);
    return master->log_rings && access_log_open(path);
}

bool service_open(struct master *master, const struct master *before)
{
    struct config *config = master->config;
    const struct open_listeners open = {
        .addresses = before ? &before->config->values[KNOB_LISTEN] : NULL,
        .sockets = before ? before->listeners : NULL,
        .sets = before ? before->layout.listener_sets : 0,
    };
    const size_t count = master->layout.listener_sets * config->values[KNOB_LISTEN].count;

    master->listeners = calloc(count, sizeof(*master->listeners));
    master->scoreboard = scoreboard_create(config, master->layout.rows);
    if (!master->listeners || !master->scoreboard || !worker_processes_open(master)) {
        log_errno("cannot start");
        return false;
    }
    if (listeners_open(config, &master->layout, before ? &open : NULL, master->listeners) != 0)
        return false;
    master->listener_count = count;
    /* Whoever came to one that nobody serves would wait for ever. */
    return activation_all_named(config->values[KNOB_LISTEN].addresses, config->values[KNOB_LISTEN].count) &&
           (!master->architecture->prepare || master->architecture->prepare(master)) &&
           open_access_log(master);
}

void service_release(struct master *master)
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
    if (master->scoreboard)
        scoreboard_destroy(master->scoreboard);
    config_release(master->config);
    free(master->config);
}
