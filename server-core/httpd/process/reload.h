/*
 * Takes up a new configuration without losing a connection (SIGHUP).
 *
 * HOW. The configuration is read and checked as at the start, and all that the new workers need is opened
 * beside what there is. If anything is wrong, that is given back and nothing has changed. Otherwise the new
 * workers start; they share the listening sockets with the old ones, so whoever waits in the kernel's queue
 * is accepted by one or the other. Then the old ones accept no more: a reply says `Connection: close`, and a
 * worker ends with its last connection, after RELOAD_LIMIT_S at the latest.
 */
#ifndef TRIMTAB_HTTPD_PROCESS_RELOAD_H
#define TRIMTAB_HTTPD_PROCESS_RELOAD_H

#include "httpd/process/master.h"

#define RELOAD_LIMIT_S 30 /* for workers to finish what they have; then they are killed */

/* Reads the configuration of the master anew and takes it up. Logs what is wrong with it, if anything is. */
void reload(struct master *master);

/* Gives back what belonged to workers that have all ended. */
void reload_clear_up(struct master *master);

#endif
