/*
 * See load.h.
 */
#include "httpd/config/load.h"

#include "common/affinity.h"
#include "httpd/config/architecture.h"
#include "httpd/config/host_section.h"
#include "httpd/config/identity.h"
#include "httpd/config/path_section.h"
#include "httpd/io/control_socket.h"
#include "httpd/io/events.h"
#include "httpd/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Descriptors of a worker that are neither connections nor cached files: the standard three, listeners, the
 * event set, wake-up, root, one file being opened, and some reserve. */
#define DESCRIPTORS_RESERVED 64

/* Mappings of memory of a process that belong to neither: the program, its libraries, heaps and stacks. */
#define MAPPINGS_RESERVED 2000

/* Gives the knobs that were not given the defaults of the architecture that was chosen. */
static void complete(struct config *config)
{
    const unsigned workers = architecture_of(config)->workers_default;

    if (workers && !config->values[KNOB_WORKERS].given)
        config->values[KNOB_WORKERS].integer = workers;
}

bool config_check(const struct config *config)
{
    const struct architecture *architecture = architecture_of(config);
    const unsigned serving = architecture_layout(config).serving;
    const char *socket_path = config_text(config, KNOB_STATS_SOCKET);
    bool ok = true;
    char sentence[256];

    for (enum knob_id id = 0; id < KNOB_COUNT; id++) {
        const struct knob_value *value = &config->values[id];

        if (KNOBS[id].required && !value->given) {
            log_error("%s is not set: expected %s", KNOBS[id].name, KNOBS[id].help);
            ok = false;
        }
        if (value->given && !architecture_understands(architecture, id) && !config_has_default(config, id)) {
            snprintf(sentence, sizeof(sentence), "architecture %s knows no such knob: expected %s",
                     architecture->name, KNOBS[id].default_text);
            ok = config_refuse(config, id, sentence);
        }
    }
    if (config_integer(config, KNOB_MAX_CONNECTIONS) < serving) {
        snprintf(sentence, sizeof(sentence), "expected at least one for each of the %u workers", serving);
        ok = config_refuse(config, KNOB_MAX_CONNECTIONS, sentence);
    }
    if (socket_path && !control_socket_can_be_at(socket_path)) {
        snprintf(sentence, sizeof(sentence), "expected a file name of at most %d bytes",
                 CONTROL_SOCKET_NAME_MAX);
        ok = config_refuse(config, KNOB_STATS_SOCKET, sentence);
    }
    if (config_text(config, KNOB_GROUP) && !config_text(config, KNOB_USER))
        ok = config_refuse(config, KNOB_GROUP, "expected a user beside it");
    if (config_text(config, KNOB_USER) && architecture_layout(config).shared_descriptors > 0)
        ok = config_refuse(config, KNOB_USER,
                           "the processes of shared-symped have all descriptors of the master, and with them "
                           "its rights: expected no user");
    if (config_integer(config, KNOB_ACCEPT_LIMIT) == KNOB_AUTO &&
        !architecture_that_serves(config)->balances_accepting) {
        snprintf(sentence, sizeof(sentence),
                 "architecture %s has no turns to balance: expected a number or inf",
                 architecture_that_serves(config)->name);
        ok = config_refuse(config, KNOB_ACCEPT_LIMIT, sentence);
    }
    return (!architecture->check || architecture->check(config)) && host_sections_check(&config->hosts) && ok;
}

/* Connections in the descriptor table that has the most. */
static uint64_t connections_per_table(const struct config *config)
{
    return (uint64_t)config_share(config_integer(config, KNOB_MAX_CONNECTIONS),
                                  architecture_layout(config).descriptor_tables, 0);
}

/* Descriptors of a table that are neither connections nor cached files. */
static uint64_t reserved_descriptors(const struct config *config)
{
    return DESCRIPTORS_RESERVED + architecture_layout(config).shared_descriptors + config->hosts.count;
}

/* Descriptors that one process needs at most: connections, cached files and a few of its own. */
static uint64_t needed_descriptors(const struct config *config)
{
    return connections_per_table(config) + (uint64_t)config_integer(config, KNOB_CACHE_ENTRIES) +
           reserved_descriptors(config);
}

static bool fit_descriptors(struct config *config)
{
    struct rlimit limit;
    const struct event_mechanism *mechanism = event_mechanism_at((size_t)config_integer(config, KNOB_EVENTS));
    const uint64_t connections = connections_per_table(config);
    const uint64_t reserved = reserved_descriptors(config);
    char reason[64] = "ulimit -Hn";
    int64_t *cache_entries = &config->values[KNOB_CACHE_ENTRIES].integer;
    char sentence[256];

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        log_errno("cannot read the limit of descriptors");
        return false;
    }
    limit.rlim_cur = limit.rlim_max;
    if (mechanism->descriptors && limit.rlim_cur > mechanism->descriptors) {
        limit.rlim_cur = mechanism->descriptors; /* the kernel sees to it that no number is higher */
        snprintf(reason, sizeof(reason), "all that %s can watch", mechanism->name);
    }
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        log_errno("cannot raise the limit of descriptors to %ju", (uintmax_t)limit.rlim_max);
    if (limit.rlim_cur == RLIM_INFINITY || needed_descriptors(config) <= limit.rlim_cur)
        return true;
    if (connections + reserved + 1 > limit.rlim_cur) {
        snprintf(sentence, sizeof(sentence),
                 "%" PRIu64 " connections a worker do not fit in %ju descriptors (%s) less %" PRIu64
                 " for other uses",
                 connections, (uintmax_t)limit.rlim_cur, reason, reserved);
        return config_refuse(config, KNOB_MAX_CONNECTIONS, sentence);
    }
    *cache_entries = (int64_t)(limit.rlim_cur - connections - reserved);
    return true;
}

/* Returns how many mappings of memory a process may have; UINT64_MAX if that is not known. */
static uint64_t mappings_max(void)
{
    FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
    uint64_t most;

    if (!file)
        return UINT64_MAX;
    if (fscanf(file, "%" SCNu64, &most) != 1)
        most = UINT64_MAX;
    fclose(file);
    return most;
}

bool config_fit_mappings(struct config *config, uint64_t most)
{
    const struct layout layout = architecture_layout(config);
    const uint64_t of_connections = connections_per_table(config) * layout.connection_mappings;
    int64_t *cache_entries = &config->values[KNOB_CACHE_ENTRIES].integer;
    char sentence[256];

    if (of_connections + layout.file_mappings + MAPPINGS_RESERVED > most) {
        snprintf(sentence, sizeof(sentence),
                 "%" PRIu64 " connections a process take %" PRIu64
                 " mappings of memory, which do not fit in %" PRIu64
                 " (vm.max_map_count) less %d for other uses",
                 connections_per_table(config), of_connections, most, MAPPINGS_RESERVED);
        return config_refuse(config, KNOB_MAX_CONNECTIONS, sentence);
    }
    if (layout.file_mappings > 0 &&
        (uint64_t)*cache_entries > (most - of_connections - MAPPINGS_RESERVED) / layout.file_mappings)
        *cache_entries = (int64_t)((most - of_connections - MAPPINGS_RESERVED) / layout.file_mappings);
    return true;
}

/* Opens the directory that is served. Logs what is wrong and returns false. */
static bool open_root(struct config *config)
{
    char sentence[256];

    config->root = open(config_text(config, KNOB_ROOT), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (config->root >= 0)
        return true;
    if (errno == ENOTDIR)
        return config_refuse(config, KNOB_ROOT, "expected a directory, this is something else");
    snprintf(sentence, sizeof(sentence), "expected a directory: %s", strerror(errno));
    return config_refuse(config, KNOB_ROOT, sentence);
}

/* Reads the media types. Logs what is wrong and returns false. */
static bool read_mime_types(struct config *config)
{
    const struct knob_value *path = &config->values[KNOB_MIME_TYPES];
    FILE *file = fopen(path->text, "re");

    if (!file && (errno != ENOENT || !config_has_default(config, KNOB_MIME_TYPES)))
        return config_refuse(config, KNOB_MIME_TYPES, strerror(errno));
    config->presentation.types = mime_types_create(file, config_text(config, KNOB_CHARSET));
    if (!config->presentation.types)
        config_refuse(config, KNOB_MIME_TYPES, strerror(errno));
    if (file)
        fclose(file);
    return config->presentation.types != NULL;
}

/* Applies one setting of the command line. */
static bool apply_setting(struct config *config, const char *setting)
{
    const char *equals = strchr(setting, '=');
    char *name = equals ? strndup(setting, (size_t)(equals - setting)) : NULL;
    bool ok;

    if (!name) {
        log_error("--set %s: expected KEY=VALUE", setting);
        return false;
    }
    ok = config_set(config, name, equals + 1, "--set");
    free(name);
    return ok;
}

int config_load(struct config *config, const struct config_source *source)
{
    bool ok;

    config_init(config);
    ok = !source->file || config_read_file(config, source->file);
    for (int i = 0; i < source->setting_count; i++)
        ok = apply_setting(config, source->settings[i]) && ok;
    complete(config);
    if (!ok || !config_check(config))
        return EXIT_CONFIGURATION;
    config->presentation.precompressed = config_integer(config, KNOB_PRECOMPRESSED) == SWITCH_ON;
    ok = config_check_host(config);
    ok &= open_root(config);
    ok &= host_sections_open(&config->hosts);
    ok &= read_mime_types(config);
    return ok && identity_find(config, &config->identity) ? EXIT_SUCCESS : EXIT_RUNTIME;
}

bool config_check_host(struct config *config)
{
    const struct knob_value *cpus = &config->values[KNOB_AFFINITY];
    char sentence[256];
    const struct event_mechanism *mechanism = event_mechanism_at((size_t)config_integer(config, KNOB_EVENTS));
    const char *unavailable = mechanism->unavailable ? mechanism->unavailable() : NULL;
    bool ok = true;

    if (unavailable)
        ok = config_refuse(config, KNOB_EVENTS, unavailable);
    for (size_t i = 0; i < cpus->count; i++) {
        if (!affinity_cpu_usable(cpus->cpus[i])) {
            snprintf(sentence, sizeof(sentence), "CPU %d does not exist or is not ours to use",
                     cpus->cpus[i]);
            ok = config_refuse(config, KNOB_AFFINITY, sentence);
        }
    }
    return fit_descriptors(config) && config_fit_mappings(config, mappings_max()) && ok;
}

void config_print(const struct config *config, FILE *out)
{
    fprintf(out, "; effective configuration; a worker needs up to %" PRIu64 " descriptors\n[server]\n",
            needed_descriptors(config));
    for (enum knob_id id = 0; id < KNOB_COUNT; id++) {
        static char text[1 << 16]; /* 1024 addresses fit */

        if (knob_format(&KNOBS[id], &config->values[id], text, sizeof(text)) > 0)
            fprintf(out, "%s = %s\n", KNOBS[id].name, text);
    }
    path_sections_print(&config->presentation, 0, out);
    for (size_t i = 0; i < config->hosts.count; i++) {
        fprintf(out, "[host %s]\nroot = %s\n", config->hosts.all[i].names, config->hosts.all[i].root);
        path_sections_print(&config->presentation, i + 1, out);
    }
}
