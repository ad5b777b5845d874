/*
 * The worker processes of the master: how they are started, woken, replaced when they die, and ended.
 */
#ifndef TRIMTAB_HTTPD_PROCESS_WORKER_PROCESSES_H
#define TRIMTAB_HTTPD_PROCESS_WORKER_PROCESSES_H

#include "httpd/process/master.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Makes the table of processes; none runs yet. Returns false with errno set on failure. */
bool worker_processes_open(struct master *master);

void worker_processes_release(struct master *master);

void worker_processes_start(struct master *master);

/* Has the workers look at the settings, which have changed. */
void worker_processes_wake(struct master *master);

/* Has the workers accept no more and end with their last connection; after `grace_ns` they are killed.
 * `closing_idle`: connections that have nothing under way are closed at once. */
void worker_processes_end(struct master *master, bool closing_idle, uint64_t grace_ns);

/* Notes that a child has ended, if it is one of these. */
void worker_processes_reap(struct master *master, pid_t pid, int status);

/* Replaces and kills what is due. Returns when there is more to do; UINT64_MAX: never. */
uint64_t worker_processes_manage(struct master *master);

bool worker_processes_left(const struct master *master);

#endif
