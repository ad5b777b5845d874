/*
 * The configuration of a server: a value for each knob (knobs.h), where it came from, and what is
 * wrong with it. The checks that concern more than one knob or the machine are in load.h.
 */
#ifndef TRIMTAB_HTTPD_CONFIG_CONFIG_H
#define TRIMTAB_HTTPD_CONFIG_CONFIG_H

#include "httpd/config/knobs.h"
#include "httpd/http/hosts.h"
#include "httpd/http/presentation.h"

#include <stdbool.h>
#include <stdint.h>

/* Exit codes of the program. */
enum { EXIT_RUNTIME = 1, EXIT_CONFIGURATION = 2 };

struct identity;

struct config {
    struct knob_value values[KNOB_COUNT];
    int root;                         /* the directory `root`, opened (O_PATH); -1: not yet */
    struct hosts hosts;               /* of the sections [host] */
    struct presentation presentation; /* its rules are those of the sections [path] */
    struct identity *identity;        /* that the workers assume (identity.h); NULL: that of the master */
};

/* Fills in the defaults. */
void config_init(struct config *config);

/* Frees everything the configuration owns. */
void config_release(struct config *config);

/*
 * Reads an INI file with a section [server] and others for hosts and paths (config_file.c). Every mistake is
 * logged with file, line, key and what was expected. Returns false if there was any.
 */
bool config_read_file(struct config *config, const char *path);

/*
 * Sets knob `name` from text that came from `origin` ("FILE:7" or "--set"). An unknown knob or a bad value is
 * logged, and false returned.
 */
bool config_set(struct config *config, const char *name, const char *text, const char *origin);

/* Logs a mistake in the value of a knob: "FILE:7: workers = 4: …". Returns false. */
bool config_refuse(const struct config *config, enum knob_id id, const char *sentence);

/* Says whether a knob has its default, given or not. */
bool config_has_default(const struct config *config, enum knob_id id);

static inline int64_t config_integer(const struct config *config, enum knob_id id)
{
    return config->values[id].integer;
}

/* What `cache_mb` says. */
static inline uint64_t config_cache_bytes(const struct config *config)
{
    return (uint64_t)config_integer(config, KNOB_CACHE_MB) << 20;
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
