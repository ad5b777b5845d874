/*
 * A server in several copies (`copies`), usually one for each CPU: process i belongs to copy i modulo their
 * number. Each copy has listeners of its own, and with `affinity` its processes are pinned to one CPU.
 *
 * With `reuseport` every copy listens at all addresses, and the kernel divides the connections; otherwise the
 * addresses are dealt out, so there must be at least one for each copy.
 */
#ifndef TRIMTAB_HTTPD_ARCH_COPIES_H
#define TRIMTAB_HTTPD_ARCH_COPIES_H

#include "httpd/config/architecture.h"

static inline unsigned copies_count(const struct config *config)
{
    return (unsigned)config_integer(config, KNOB_COPIES);
}

static inline unsigned copy_of_process(const struct config *config, unsigned process)
{
    return process % copies_count(config);
}

/* Checks that every copy has a process and an address. Logs what is wrong and returns false. */
bool copies_check(const struct config *config);

/* For struct architecture: describes row i as process i, at the place of its copy in `affinity`, or at one of
 * its own if there is but one copy. */
struct row_description copies_describe_row(const struct config *config, unsigned row);

/* For struct architecture: the listeners of the worker's copy. */
void copies_choose_listeners(const struct master *master, struct worker *worker);

#endif
