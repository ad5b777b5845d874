/*
 * See version.h.
 */
#include "httpd/version.h"

#include "common/json_writer.h"
#include "httpd/config/architecture.h"
#include "httpd/config/load.h"
#include "httpd/io/events.h"
#include "httpd/log.h"

void version_write(FILE *out)
{
    fprintf(out, "trimtab-httpd %s\narchitectures:", TRIMTAB_VERSION);
    for (size_t i = 0; architecture_at(i); i++)
        fprintf(out, " %s", architecture_at(i)->name);
    fprintf(out, "\nevents:");
    for (size_t i = 0; event_mechanism_at(i); i++)
        fprintf(out, " %s", event_mechanism_at(i)->name);
    fprintf(out, "\n");
}

/* Says whether the architecture's own checks let the combination pass; all other knobs have their defaults.
 */
static bool is_allowed(const struct architecture *architecture, const char *events, const char *sendfile)
{
    struct config config;
    bool allowed;

    config_init(&config);
    allowed = config_set(&config, "architecture", architecture->name, "") &&
              config_set(&config, "events", events, "") && config_set(&config, "sendfile", sendfile, "") &&
              config_set(&config, "root", "/", "") && config_set(&config, "listen", "127.0.0.1:0", "") &&
              config_check(&config);
    config_release(&config);
    return allowed;
}

static void write_modes(struct json_writer *json, const struct architecture *architecture)
{
    const struct knob *sendfile = &KNOBS[KNOB_SENDFILE];

    json_key(json, "modes");
    json_open_array(json);
    for (size_t i = 0; event_mechanism_at(i); i++) {
        for (size_t j = 0; sendfile->choice(j); j++) {
            if (!is_allowed(architecture, event_mechanism_at(i)->name, sendfile->choice(j)))
                continue;
            json_open_object(json);
            json_member_string(json, "events", event_mechanism_at(i)->name);
            json_member_string(json, "sendfile", sendfile->choice(j));
            json_close_object(json);
        }
    }
    json_close_array(json);
}

static void write_architecture(struct json_writer *json, const struct architecture *architecture)
{
    json_open_object(json);
    json_member_string(json, "name", architecture->name);
    json_member_string(json, "help", architecture->help);
    json_key(json, "knobs");
    json_open_array(json);
    for (enum knob_id id = 0; id < KNOB_COUNT; id++) {
        if (architecture_understands(architecture, id))
            json_string(json, KNOBS[id].name);
    }
    json_close_array(json);
    json_member_unsigned(json, "workers_default",
                         architecture->workers_default ? architecture->workers_default : 1);
    write_modes(json, architecture);
    json_close_object(json);
}

void version_write_json(FILE *out)
{
    struct json_writer json;
    char unheard[1];

    log_divert(unheard, sizeof(unheard));
    json_begin(&json, out);
    json_open_object(&json);
    json_member_string(&json, "name", "trimtab-httpd");
    json_member_string(&json, "version", TRIMTAB_VERSION);
    json_key(&json, "architectures");
    json_open_array(&json);
    for (size_t i = 0; architecture_at(i); i++)
        write_architecture(&json, architecture_at(i));
    json_close_array(&json);
    json_close_object(&json);
    json_end_line(&json);
    log_divert(NULL, 0);
}
