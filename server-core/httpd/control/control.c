/*
 * See control.h.
 */
#include "httpd/control/control.h"

#include "common/clock.h"
#include "common/json_writer.h"
#include "httpd/config/architecture.h"
#include "httpd/control/prometheus.h"
#include "httpd/control/stats.h"
#include "httpd/io/events.h"
#include "httpd/log.h"
#include "httpd/process/listeners.h"
#include "httpd/process/service.h"
#include "httpd/process/worker_processes.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A command gets what stands behind its words, and answers by one document. */
struct command {
    const char *words;
    const char *arguments; /* "" if it takes none */
    const char *help;
    void (*execute)(struct master *master, char *arguments, struct json_writer *json);
};

static void write_error(struct json_writer *json, const char *code, const char *message)
{
    json_open_object(json);
    json_key(json, "error");
    json_open_object(json);
    json_member_string(json, "code", code);
    json_member_string(json, "message", message);
    json_close_object(json);
    json_close_object(json);
}

static void write_knob_value(struct json_writer *json, enum knob_id id, const struct knob_value *value)
{
    static char text[1 << 16];

    switch (KNOBS[id].kind) {
    case KNOB_SECONDS:
        json_number(json, value->seconds);
        return;
    case KNOB_INTEGER:
    case KNOB_INTEGER_OR_WORD:
        if (!knob_is_word(&KNOBS[id], value)) {
            json_signed(json, value->integer);
            return;
        }
        break;
    default:
        break;
    }
    knob_format(&KNOBS[id], value, text, sizeof(text));
    json_string(json, text);
}

static void show_workers(const struct master *master, struct json_writer *json)
{
    const struct knob_value *cpus = &master->config->values[KNOB_AFFINITY];

    json_open_array(json);
    for (unsigned i = 0; i < master->worker_count; i++) {
        const struct row_description about = architecture_row(master->config, i);

        json_open_object(json);
        json_member_unsigned(json, "worker", i);
        json_member_string(json, "role", about.role);
        json_member_signed(json, "pid", master->workers[i].pid);
        json_key(json, "cpu");
        if (cpus->count)
            json_signed(json, cpus->cpus[about.cpu_position % cpus->count]);
        else
            json_null(json);
        json_close_object(json);
    }
    json_close_array(json);
}

static void show_info(struct master *master, char *arguments, struct json_writer *json)
{
    const struct config *config = master->config;
    const struct knob_value *addresses = &config->values[KNOB_LISTEN];

    (void)arguments;
    json_open_object(json);
    json_member_string(json, "name", "trimtab-httpd");
    json_member_string(json, "version", TRIMTAB_VERSION);
    json_member_signed(json, "pid", getpid());
    json_member_string(json, "architecture", master->architecture->name);
    json_member_string(json, "events", event_mechanism_at((size_t)config_integer(config, KNOB_EVENTS))->name);
    json_key(json, "workers");
    show_workers(master, json);
    json_member_number(json, "uptime_s", (double)(clock_now_ns() - master->started_ns) / 1e9);
    json_key(json, "listen");
    json_open_array(json);
    for (size_t i = 0; i < addresses->count; i++) {
        char text[ADDRESS_TEXT_MAX];

        address_format(&addresses->addresses[i], text);
        json_string(json, text);
    }
    json_close_array(json);
    json_member_string(json, "root", config_text(config, KNOB_ROOT));
    json_member_unsigned(json, "worker_restarts", master->worker_restarts);
    json_close_object(json);
}

static void show_stats(struct master *master, char *arguments, struct json_writer *json)
{
    (void)arguments;
    stats_write(master, json);
}

/* The one answer that is no JSON document: its last line is `# EOF`. */
static void show_metrics(struct master *master, char *arguments, struct json_writer *json)
{
    (void)arguments;
    prometheus_write(master, json->out);
}

static void show_schema(struct master *master, char *arguments, struct json_writer *json)
{
    (void)master;
    (void)arguments;
    stats_write_schema(json);
}

static void show_config(struct master *master, char *arguments, struct json_writer *json)
{
    (void)arguments;
    json_open_object(json);
    for (enum knob_id id = 0; id < KNOB_COUNT; id++) {
        json_key(json, KNOBS[id].name);
        write_knob_value(json, id, &master->config->values[id]);
    }
    json_close_object(json);
}

/* Sets a live knob. The new value must pass what a value in the file has to pass. */
static void set_knob(struct master *master, char *arguments, struct json_writer *json)
{
    char *name = strsep(&arguments, " ");
    const enum knob_id id = knob_find(name);
    struct config candidate = *master->config; /* borrows what the values own, but for the one that changes */
    char message[1024];
    bool taken;

    if (id == KNOB_COUNT) {
        snprintf(message, sizeof(message), "there is no knob called %.100s; show config lists them", name);
        write_error(json, "unknown-knob", message);
        return;
    }
    if (!KNOBS[id].live) {
        snprintf(message, sizeof(message), "%s cannot be changed while the server runs", name);
        write_error(json, "not-live", message);
        return;
    }
    candidate.values[id] = (struct knob_value){0};
    log_divert(message, sizeof(message)); /* the client is told */
    taken = config_set(&candidate, name, arguments ? arguments : "", "set") && config_check(&candidate) &&
            config_check_host(&candidate);
    log_divert(NULL, 0);
    if (!taken) {
        knob_release(&candidate.values[id]);
        write_error(json, "bad-value", message);
        return;
    }
    knob_release(&master->config->values[id]);
    master->config->values[id] = candidate.values[id];
    scoreboard_apply(master->scoreboard, master->config);
    listeners_set_send_timeout(master->listeners, master->listener_count,
                               config_seconds(master->config, KNOB_REQUEST_TIMEOUT));
    worker_processes_wake(master);
    json_open_object(json);
    json_member_string(json, "knob", name);
    json_key(json, "value");
    write_knob_value(json, id, &master->config->values[id]);
    json_close_object(json);
}

static void clear_counters(struct master *master, char *arguments, struct json_writer *json)
{
    (void)arguments;
    scoreboard_clear(master->scoreboard);
    json_open_object(json);
    json_member_boolean(json, "cleared", true);
    json_close_object(json);
}

static void shut_down(struct master *master, char *arguments, struct json_writer *json)
{
    (void)arguments;
    service_shut_down(master);
    json_open_object(json);
    json_member_string(json, "shutdown", "graceful");
    json_close_object(json);
}

static void help(struct master *master, char *arguments, struct json_writer *json);

static const struct command COMMANDS[] = {
    {"help", "", "lists the commands", help},
    {"show info", "", "what runs: version, processes, addresses, root", show_info},
    {"show stats", "", "the metrics of each worker and in total", show_stats},
    {"show metrics", "", "the metrics of each worker as text for Prometheus; the last line is # EOF",
     show_metrics},
    {"show schema", "", "what each metric is", show_schema},
    {"show config", "", "the effective value of each knob", show_config},
    {"set", "KNOB VALUE", "changes a knob that may change while the server runs", set_knob},
    {"clear counters", "", "lets all counters start from zero", clear_counters},
    {"shutdown graceful", "", "finishes the replies under way, within two seconds, and ends", shut_down},
};

#define COMMAND_COUNT (sizeof(COMMANDS) / sizeof(*COMMANDS))

static void help(struct master *master, char *arguments, struct json_writer *json)
{
    (void)master;
    (void)arguments;
    json_open_array(json);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        json_open_object(json);
        json_member_string(json, "command", COMMANDS[i].words);
        json_member_string(json, "arguments", COMMANDS[i].arguments);
        json_member_string(json, "help", COMMANDS[i].help);
        json_close_object(json);
    }
    json_close_array(json);
}

/* Says whether the line begins with the words of the command; *arguments is what stands behind. */
static bool matches(const struct command *command, char *line, char **arguments)
{
    const size_t length = strlen(command->words);

    if (strncmp(line, command->words, length) != 0 || (line[length] != '\0' && line[length] != ' '))
        return false;
    *arguments = line + length + strspn(line + length, " ");
    return true;
}

void control_execute(struct master *master, char *line, FILE *out)
{
    struct json_writer json;
    char message[256];
    char *arguments;

    json_begin(&json, out);
    if (!line) {
        write_error(&json, "line-too-long", "a command line has at most 1024 bytes");
        json_end_line(&json);
        return;
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct command *command = &COMMANDS[i];

        if (!matches(command, line, &arguments))
            continue;
        if ((*arguments != '\0') != (*command->arguments != '\0')) {
            snprintf(message, sizeof(message), "%s takes %s", command->words,
                     *command->arguments ? command->arguments : "no arguments");
            write_error(&json, "bad-arguments", message);
        } else {
            command->execute(master, arguments, &json);
        }
        json_end_line(&json);
        return;
    }
    snprintf(message, sizeof(message), "there is no command %.100s; help lists them", line);
    write_error(&json, "unknown-command", message);
    json_end_line(&json);
}
