/*
 * What `n-copy` needs of shared-symped: copies of it that each have a cache of their own.
 */
#ifndef TRIMTAB_HTTPD_ARCH_SHARED_SYMPED_H
#define TRIMTAB_HTTPD_ARCH_SHARED_SYMPED_H

#include "httpd/config/architecture.h"

/* Makes `caches` caches; process i uses number i modulo `caches`. */
bool shared_symped_prepare(struct master *master, unsigned caches);

/* As in struct architecture. */
void shared_symped_bury(struct master *master, unsigned process);

/* Has the worker of process `worker->process` use what the processes share. */
void shared_symped_join(struct worker *worker);

#endif
