/*
 * The metrics in the text format of Prometheus, which collectors read.
 */
#ifndef TRIMTAB_HTTPD_CONTROL_PROMETHEUS_H
#define TRIMTAB_HTTPD_CONTROL_PROMETHEUS_H

#include "httpd/process/master.h"

#include <stdio.h>

/* Writes the metrics of each worker, ended by a line `# EOF` that is left without its line feed. They count
 * from the start of the server: what only grows must not be set back by who clears counters. */
void prometheus_write(const struct master *master, FILE *out);

#endif
