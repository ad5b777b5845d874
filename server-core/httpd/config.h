/*
 * The configuration of a server: a value for each knob (knobs.h), where it came from, and the checks that
 * concern more than one knob or the machine.
 */
#ifndef TRIMTAB_HTTPD_CONFIG_H
#define TRIMTAB_HTTPD_CONFIG_H

#include "httpd/knobs.h"

#include <stdbool.h>
#include <stdio.h>

/* Exit codes of the program. */
enum { EXIT_RUNTIME = 1, EXIT_CONFIGURATION = 2 };

struct config {
    struct knob_value values[KNOB_COUNT];
};

/* Fills in the defaults. */
void config_init(struct config *config);

/* Frees everything the configuration owns. */
void config_release(struct config *config);

/*
 * Reads an INI file with one section [server] (config_file.c). Every mistake is logged with file, line, key
 * and what was expected. Returns false if there was any.
 */
bool config_read_file(struct config *config, const char *path);

/*
 * Sets knob `name` from text that came from `origin` ("FILE:7" or "--set"). An unknown knob or a bad value is
 * logged, and false returned.
 */
bool config_set(struct config *config, const char *name, const char *text, const char *origin);

/* Where a configuration comes from. */
struct config_source {
    const char *file;      /* NULL: there is none */
    char *const *settings; /* of the command line, each KEY=VALUE */
    int setting_count;
};

/*
 * Reads a configuration and checks it, also against this machine. Every mistake is logged. Returns
 * EXIT_SUCCESS or the exit code for what is wrong; config_release() is due anyhow.
 */
int config_load(struct config *config, const struct config_source *source);

/* Logs a mistake in the value of a knob: "FILE:7: workers = 4: …". Returns false. */
bool config_refuse(const struct config *config, enum knob_id id, const char *sentence);

/* Says whether a knob has its default, given or not. */
bool config_has_default(const struct config *config, enum knob_id id);

/* Gives the knobs that were not given the defaults of the architecture that was chosen. */
void config_complete(struct config *config);

/* Checks what concerns several knobs. Logs every mistake; returns false if there was any. */
bool config_check(const struct config *config);

/*
 * Checks the configuration against this machine: the root is a directory, the CPUs are ours to use, and the
 * descriptors and the mappings of memory suffice; raises the soft limit of descriptors to the hard one, and
 * lowers cache_entries to what fits beside the connections. Logs every problem; returns false if there was
 * any.
 */
bool config_check_host(struct config *config);

/*
 * The part of that which concerns mappings of memory: a process may have `most` (vm.max_map_count). Lowers
 * cache_entries to what fits beside the connections. Logs what does not fit and returns false.
 */
bool config_fit_mappings(struct config *config, uint64_t most);

/* Descriptors that one process needs at most: connections, cached files and a few of its own. */
uint64_t config_descriptors(const struct config *config);

/* Writes the effective configuration as an INI file. */
void config_print(const struct config *config, FILE *out);

static inline int64_t config_integer(const struct config *config, enum knob_id id)
{
    return config->values[id].integer;
}

static inline double config_seconds(const struct config *config, enum knob_id id)
{
    return config->values[id].seconds;
}

static inline const char *config_text(const struct config *config, enum knob_id id)
{
    return config->values[id].text;
}

/* Connections that worker `index` of `workers` may hold open: an even share of `total`, the rest going to the
 * first ones. */
static inline int64_t config_share(int64_t total, int64_t workers, int64_t index)
{
    return total / workers + (index < total % workers);
}

#endif
