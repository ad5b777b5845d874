/*
 * The commands of the stats socket: one line in, one JSON document out. Described for users in
 * docs/stats-socket.md.
 */
#ifndef TRIMTAB_HTTPD_CONTROL_H
#define TRIMTAB_HTTPD_CONTROL_H

#include "httpd/master.h"

#include <stdio.h>

/* Carries out the command in `line` (changed in the process) and writes its answer, a line of JSON, to `out`.
 */
void control_execute(struct master *master, char *line, FILE *out);

/* Writes the document {"error":{"code":…,"message":…}}. */
void control_write_error(FILE *out, const char *code, const char *message);

#endif
