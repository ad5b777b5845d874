/*
 * See config.h.
 */
#include "httpd/config/config.h"

#include "httpd/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void config_init(struct config *config)
{
    *config = (struct config){.root = -1};
    for (enum knob_id id = 0; id < KNOB_COUNT; id++) {
        if (KNOBS[id].default_text && !knob_parse(&KNOBS[id], KNOBS[id].default_text, &config->values[id]))
            abort(); /* a mistake in the table */
    }
}

void config_release(struct config *config)
{
    for (enum knob_id id = 0; id < KNOB_COUNT; id++)
        knob_release(&config->values[id]);
    hosts_release(&config->hosts);
    presentation_release(&config->presentation);
    free(config->identity);
    if (config->root >= 0)
        close(config->root);
}

static void log_unknown_knob(const char *name, const char *origin)
{
    char known[2048] = "";
    size_t length = 0;

    for (enum knob_id id = 0; id < KNOB_COUNT && length < sizeof(known); id++)
        length +=
            (size_t)snprintf(known + length, sizeof(known) - length, "%s%s", id ? ", " : "", KNOBS[id].name);
    log_error("%s: unknown key %s: expected one of %s", origin, name, known);
}

bool config_set(struct config *config, const char *name, const char *text, const char *origin)
{
    const enum knob_id id = knob_find(name);
    char expected[256];

    if (id == KNOB_COUNT) {
        log_unknown_knob(name, origin);
        return false;
    }
    if (!knob_parse(&KNOBS[id], text, &config->values[id])) {
        knob_expected(&KNOBS[id], expected, sizeof(expected));
        log_error("%s: %s = %.200s: expected %s", origin, name, text, expected);
        return false;
    }
    config->values[id].given = true;
    config->values[id].origin = strdup(origin);
    return true;
}

bool config_refuse(const struct config *config, enum knob_id id, const char *sentence)
{
    const struct knob_value *value = &config->values[id];
    char text[512];

    knob_format(&KNOBS[id], value, text, sizeof(text));
    log_error("%s: %s = %s: %s", value->origin ? value->origin : "default", KNOBS[id].name, text, sentence);
    return false;
}

bool config_has_default(const struct config *config, enum knob_id id)
{
    char text[512];

    knob_format(&KNOBS[id], &config->values[id], text, sizeof(text));
    return KNOBS[id].default_text && strcmp(text, KNOBS[id].default_text) == 0;
}
