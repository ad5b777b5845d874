/*
 * Where a configuration comes from, and the checks that concern more than one knob, the architecture or the
 * machine.
 */
#ifndef TRIMTAB_HTTPD_CONFIG_LOAD_H
#define TRIMTAB_HTTPD_CONFIG_LOAD_H

#include "httpd/config/config.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

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

/* Checks what concerns several knobs. Logs every mistake; returns false if there was any. */
bool config_check(const struct config *config);

/*
 * Checks the configuration against this machine: the CPUs are ours to use, and the descriptors and the
 * mappings of memory suffice; raises the soft limit of descriptors to the hard one, and lowers cache_entries
 * to what fits beside the connections. Logs every problem; returns false if there was any.
 */
bool config_check_host(struct config *config);

/*
 * The part of that which concerns mappings of memory: a process may have `most` (vm.max_map_count). Lowers
 * cache_entries to what fits beside the connections. Logs what does not fit and returns false.
 */
bool config_fit_mappings(struct config *config, uint64_t most);

/* Writes the effective configuration as an INI file. */
void config_print(const struct config *config, FILE *out);

#endif
