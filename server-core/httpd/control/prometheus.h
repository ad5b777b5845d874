/*
 * The metrics in the text format of Prometheus, which collectors read.
 */
#ifndef TRIMTAB_HTTPD_CONTROL_PROMETHEUS_H
#define TRIMTAB_HTTPD_CONTROL_PROMETHEUS_H

#include "httpd/process/master.h"

#include <stdio.h>

/* Writes the metrics of each worker, ended by a line `# EOF` that is left without its line feed. What
 * only grows is not set back by who clears counters; a reload, which makes new workers, begins anew, as
 * collectors expect of a program that was started again. */
void prometheus_write(const struct master *master, FILE *out);

#endif
