/*
 * See reload.h.
 */
#include "httpd/process/reload.h"

#include "common/clock.h"
#include "httpd/connection/access_log.h"
#include "httpd/log.h"
#include "httpd/process/listeners.h"
#include "httpd/process/notify.h"
#include "httpd/process/service.h"
#include "httpd/process/worker_processes.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Says whether two texts are the same or both unset. */
static bool same_text(const char *one, const char *other)
{
    return one == other || (one && other && strcmp(one, other) == 0);
}

/* Checks what cannot change while the server runs. Logs every mistake; returns false if there was any. */
static bool can_follow(const struct master *master, const struct config *next)
{
    const struct config *now = master->config;
    const struct layout layout = architecture_layout(next);
    bool ok = true;

    if (!same_text(config_text(next, KNOB_STATS_SOCKET), config_text(now, KNOB_STATS_SOCKET)))
        ok = config_refuse(next, KNOB_STATS_SOCKET, "changes with a restart only");
    if (config_integer(next, KNOB_SNDBUF) == 0 && config_integer(now, KNOB_SNDBUF) != 0)
        ok = config_refuse(next, KNOB_SNDBUF,
                           "a socket that had a fixed buffer is left to the kernel with a restart only");
    if (layout.listener_sets != master->layout.listener_sets)
        ok = config_refuse(
            next, KNOB_REUSEPORT,
            "the number of sockets at an address changes with a restart only: whoever waited at one "
            "that goes would be cut off");
    if (layout.blocking_listeners != master->layout.blocking_listeners)
        ok = config_refuse(next, KNOB_ARCHITECTURE,
                           "uring, whose sockets are in another mode, comes and goes with a restart only");
    if (layout.shared_descriptors || master->layout.shared_descriptors)
        ok = config_refuse(next, KNOB_ARCHITECTURE,
                           "shared-symped, whose processes share the master's descriptors, takes up a new "
                           "configuration with a restart only");
    return ok;
}

/* Leaves the listeners to the successor; those that it does not have are closed to new clients. */
static void pass_on_listeners(struct master *older, const struct master *successor)
{
    for (size_t i = 0; i < older->listener_count; i++) {
        if (listener_is_among(successor->listeners, successor->listener_count, older->listeners[i]))
            older->listeners[i] = -1;
        else
            listener_end(older->listeners[i]);
    }
}

/* Gives back a successor that could not be opened; the listeners that are open stay. */
static void give_up(struct master *next, const struct master *master)
{
    for (size_t i = 0; i < next->listener_count; i++) {
        if (listener_is_among(master->listeners, master->listener_count, next->listeners[i]))
            next->listeners[i] = -1;
    }
    service_release(next);
}

/* Makes `next` the master, and what that was the older one. */
static void replace(struct master *master, struct master *next, struct master *older)
{
    *older = *master;
    *master = *next;
    master->older = older;
    pass_on_listeners(older, master);
    worker_processes_start(master);
    worker_processes_end(older, false, RELOAD_LIMIT_S * NS_PER_S);
}

/* Everything stays as it was: also the limit of descriptors, which depends on the events that a configuration
 * asks for, and which a worker that is replaced inherits. */
static void refuse(const struct rlimit *descriptors)
{
    static const char sentence[] = "the configuration is not taken up, everything stays as it was";

    if (setrlimit(RLIMIT_NOFILE, descriptors) != 0)
        log_errno("cannot restore the limit of descriptors");
    log_error(sentence);
    notify_ready(sentence);
}

void reload(struct master *master)
{
    struct master *older = malloc(sizeof(*older));
    struct config *config = malloc(sizeof(*config));
    struct master next = *master;
    struct rlimit descriptors;

    getrlimit(RLIMIT_NOFILE, &descriptors);
    notify_reloading();
    access_log_reopen(); /* which may be why the signal was sent */
    if (!older || !config) {
        log_errno("cannot take up the configuration");
        refuse(&descriptors);
        free(older);
        free(config);
        return;
    }
    if (config_load(config, master->source) != EXIT_SUCCESS || !can_follow(master, config)) {
        refuse(&descriptors);
        config_release(config);
        free(config);
        free(older);
        return;
    }
    next.config = config;
    next.architecture = architecture_of(config);
    next.layout = architecture_layout(config);
    next.scoreboard = NULL;
    next.log_rings = NULL;
    next.common = NULL;
    next.workers = NULL;
    next.wake_fds = NULL;
    next.listener_count = next.worker_count = 0;
    if (!service_open(&next, master)) {
        refuse(&descriptors);
        give_up(&next, master);
        free(older);
        return;
    }
    listeners_adjust_kept(config, next.listeners, next.listener_count, master->listeners,
                          master->listener_count);
    replace(master, &next, older);
    service_log_start(master);
}

void reload_clear_up(struct master *master)
{
    struct master **link = &master->older;

    while (*link) {
        struct master *each = *link;

        if (worker_processes_left(each)) {
            link = &each->older;
        } else {
            *link = each->older;
            service_release(each);
            free(each);
        }
    }
}
