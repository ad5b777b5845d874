/*
 * What the first process does from the start to the end: it is the master of all others (process/master.h),
 * takes signals and answers at the stats socket.
 */
#ifndef TRIMTAB_HTTPD_SERVE_H
#define TRIMTAB_HTTPD_SERVE_H

#include "httpd/config/load.h"

/* Serves with a configuration that came from `source` and has passed its checks. Takes it over. Returns the
 * exit code of the program. */
int serve(const struct config_source *source, struct config *config);

#endif
