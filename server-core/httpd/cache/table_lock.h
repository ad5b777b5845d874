/*
 * The lock of a table that several processes or threads share, made of futexes (futex(2)) in shared memory.
 *
 * `mutex`: one word, whoever looks something up excludes everybody else.
 *
 * `rw`: one word for each holder, on a cache line of its own. A reader takes its own word only, so readers
 * neither wait for each other nor share a cache line; a writer takes all of them, in order. Tables are read
 * with every request and written when a file is opened or evicted.
 *
 * A word says who holds it. So when a process has died, whoever notices can tell whether it died with the
 * lock in its hands, and whether it may have left the table half changed. (Robust mutexes of POSIX threads
 * name their owner by a thread id that the C library remembers; in processes made by clone(2) with
 * CLONE_FILES it remembers that of the parent.)
 */
#ifndef TRIMTAB_HTTPD_CACHE_TABLE_LOCK_H
#define TRIMTAB_HTTPD_CACHE_TABLE_LOCK_H

#include "httpd/config/knobs.h"

#include <stdbool.h>
#include <stddef.h>

struct table_lock;

/* Returns how many bytes a lock for holders 0…holders-1 takes; they must begin at a cache line. */
size_t table_lock_bytes(enum cache_lock kind, unsigned holders);

/* Makes a free lock in `memory`. */
struct table_lock *table_lock_init(void *memory, enum cache_lock kind, unsigned holders);

/* Takes the lock. Returns whether somebody else held it, so that the caller had to wait. */
bool table_lock_read(struct table_lock *lock, unsigned holder);
bool table_lock_write(struct table_lock *lock, unsigned holder);

void table_unlock_read(struct table_lock *lock, unsigned holder);
void table_unlock_write(struct table_lock *lock, unsigned holder);

/*
 * To be called when the holder has died. Returns true when it held the lock alone, so that the table may be
 * half changed: then the caller has the lock in its place, and unlocks it (for writing, as `holder`) when the
 * table is in order. Otherwise gives back what the dead holder held.
 */
bool table_lock_inherit(struct table_lock *lock, unsigned holder);

#endif
