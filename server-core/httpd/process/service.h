/*
 * The beginning and the end of what a master serves by one reading of the configuration.
 */
#ifndef TRIMTAB_HTTPD_PROCESS_SERVICE_H
#define TRIMTAB_HTTPD_PROCESS_SERVICE_H

#include "httpd/process/master.h"

#include <stdbool.h>

/* Opens what is needed to serve, all but the signals and the stats socket, and in place of `before` if that
 * is not NULL: open listeners are kept. Logs what is wrong and returns false; service_release() is due
 * anyhow.
 */
bool service_open(struct master *master, const struct master *before);

/* Gives everything back but signals and stats socket; all workers have ended. */
void service_release(struct master *master);

/* Says on stderr, and to the service manager, what runs. */
void service_log_start(const struct master *master);

/* Begins to stop: workers finish the replies under way, and are killed after two seconds. */
void service_shut_down(struct master *master);

#endif
