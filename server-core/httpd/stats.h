/*
 * The documents of `show stats` and `show schema`.
 */
#ifndef TRIMTAB_HTTPD_STATS_H
#define TRIMTAB_HTTPD_STATS_H

#include "common/json_writer.h"
#include "httpd/master.h"

/* Writes what the counters say since the start of the server or the last stats_clear(). */
void stats_write(const struct master *master, struct json_writer *json);

void stats_write_schema(struct json_writer *json);

/* Lets the counters start from zero, in what stats_write() says. Returns false when there is no memory. */
bool stats_clear(const struct master *master);

/* Frees what stats_clear() remembers. */
void stats_release(const struct master *master);

#endif
