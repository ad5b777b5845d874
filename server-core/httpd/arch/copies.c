/*
 * See copies.h.
 */
#include "httpd/arch/copies.h"

#include "httpd/connection/worker.h"
#include "httpd/log.h"
#include "httpd/process/master.h"

#include <stdio.h>
#include <stdlib.h>

bool copies_check(const struct config *config)
{
    const struct layout layout = architecture_layout(config);
    char sentence[128];
    bool ok = true;

    if (layout.processes < copies_count(config)) {
        snprintf(sentence, sizeof(sentence), "expected at most one for each of the %u processes (workers)",
                 layout.processes);
        ok = config_refuse(config, KNOB_COPIES, sentence);
    }
    if (config_integer(config, KNOB_REUSEPORT) == SWITCH_OFF &&
        config->values[KNOB_LISTEN].count < copies_count(config))
        ok = config_refuse(config, KNOB_LISTEN,
                           "expected an address for each of the copies, or reuseport = on");
    return ok;
}

struct row_description copies_describe_row(const struct config *config, unsigned row)
{
    const bool is_one = copies_count(config) == 1;

    return (struct row_description){
        .role = "worker",
        .process = row,
        .cpu_position = is_one ? row : copy_of_process(config, row),
    };
}

void copies_choose_listeners(const struct master *master, struct worker *worker)
{
    const unsigned copy = copy_of_process(master->config, worker->process);
    const size_t addresses = master->config->values[KNOB_LISTEN].count;
    int *chosen;

    if (master->layout.listener_sets > 1) {
        worker->listeners = master->listeners + copy * addresses;
        worker->listener_count = addresses;
        return;
    }
    worker->listener_count = 0;
    chosen = calloc(addresses, sizeof(*chosen));
    if (!chosen) {
        log_errno("no memory for the list of listeners");
        return;
    }
    for (size_t i = copy; i < addresses; i += copies_count(master->config))
        chosen[worker->listener_count++] = master->listeners[i];
    worker->listeners = chosen;
}
