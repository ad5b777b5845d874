/*
 * The commands of the stats socket: one line in, one JSON document out (`show metrics`: a text, whose last
 * line is `# EOF`). Described for users in docs/internals/stats-socket.md.
 */
#ifndef TRIMTAB_HTTPD_CONTROL_CONTROL_H
#define TRIMTAB_HTTPD_CONTROL_CONTROL_H

#include "httpd/process/master.h"

#include <stdio.h>

/* Carries out the command in `line` (changed in the process) and writes its answer, with a line feed at its
 * end, to `out`. NULL: the line was too long to be taken. */
void control_execute(struct master *master, char *line, FILE *out);

#endif
