/*
 * The documents of `show stats` and `show schema`.
 */
#ifndef TRIMTAB_HTTPD_CONTROL_STATS_H
#define TRIMTAB_HTTPD_CONTROL_STATS_H

#include "common/json_writer.h"
#include "httpd/process/master.h"

/* Writes what the counters say since the start of the server or since they were last cleared. */
void stats_write(const struct master *master, struct json_writer *json);

void stats_write_schema(struct json_writer *json);

#endif
