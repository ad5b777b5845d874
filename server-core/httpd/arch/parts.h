/*
 * A server in `copies` parts, usually one for each CPU: process i belongs to part i modulo `copies`. Each
 * part has listeners of its own, and with `affinity` its processes are pinned to one CPU.
 *
 * With `reuseport` every part listens at all addresses, and the kernel divides the connections; otherwise the
 * addresses are dealt out, so there must be at least one for each part.
 */
#ifndef TRIMTAB_HTTPD_ARCH_PARTS_H
#define TRIMTAB_HTTPD_ARCH_PARTS_H

#include "httpd/arch/architecture.h"

static inline unsigned parts_count(const struct config *config)
{
    return (unsigned)config_integer(config, KNOB_COPIES);
}

static inline unsigned parts_of_process(const struct config *config, unsigned process)
{
    return process % parts_count(config);
}

/* Checks that every part has a process and an address. Logs what is wrong and returns false. */
bool parts_check(const struct config *config);

/* For struct architecture: describes row i as process i, at the place of its part in `affinity`. */
struct row_description parts_describe_row(const struct config *config, unsigned row);

/* For struct architecture: the listeners of the worker's part. */
void parts_choose_listeners(const struct master *master, struct worker *worker);

#endif
