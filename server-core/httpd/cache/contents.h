/*
 * The contents of files in memory, for `sendfile = off`: the application cache of servers that copy what
 * they send (write) instead of having the kernel send it from its page cache (sendfile).
 *
 * DESIGN. One cache in each process, shared by its threads and locked by one mutex, which is never held while
 * a file is read. Contents belong to one version of a file: its device, inode, size and time of change. They
 * are read whole by whoever needs them first; those used longest ago give way when there are more than
 * `cache_mb`. Contents live until the last reply that sends them is out, and count until then: what finds no
 * room beside those that slow readers hold is not loaded, and its reply is read and written piece by piece.
 */
#ifndef TRIMTAB_HTTPD_CACHE_CONTENTS_H
#define TRIMTAB_HTTPD_CACHE_CONTENTS_H

#include "httpd/cache/file_table.h"
#include "httpd/counters/metrics.h"

#include <stdbool.h>
#include <stdint.h>

struct contents_cache;
struct contents;

/* Makes a cache for up to `bytes`. Returns NULL when there is no memory. */
struct contents_cache *contents_cache_create(uint64_t bytes);

void contents_cache_destroy(struct contents_cache *cache);

/*
 * Returns a reference to the contents of a file, which may have to be loaded still; NULL when the cache is
 * too small for them or there is no memory. Reads nothing, so it does not block. Counts hits and misses.
 */
struct contents *contents_get(struct contents_cache *cache, const struct cached_file *file,
                              struct counters *counters);

/* Returns the bytes, which it reads from the file `fd` if that has not been done; NULL when they cannot be
 * had: the file has become shorter, or there is no room. Only who has the reference may call it. */
const char *contents_load(struct contents *contents, int fd, struct counters *counters);

/* Says whether the bytes are there, so that nothing will be read. */
bool contents_are_loaded(const struct contents *contents);

/* Gives a reference back. */
void contents_release(struct contents *contents);

#endif
