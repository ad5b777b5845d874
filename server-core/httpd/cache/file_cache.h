/*
 * The cache of a worker: path -> open descriptor and finished reply head, and the contents of small files.
 * Those of others are in the kernel's page cache, from where sendfile(2) sends them.
 *
 * DESIGN. The entries are in a table (file_table.h) of the worker's own, or in one that it shares with
 * others. An entry that is evicted or replaced while a reply is being sent lives on until that reply ends, so
 * every reply is of one version of its file.
 *
 * An entry that is hit is compared with the file system (fstatat) when that has not been done within the last
 * second; if the file was replaced or changed, it is opened anew. So a change is seen at most a second late.
 */
#ifndef TRIMTAB_HTTPD_CACHE_FILE_CACHE_H
#define TRIMTAB_HTTPD_CACHE_FILE_CACHE_H

#include "httpd/cache/file_table.h"
#include "httpd/http/hosts.h"
#include "httpd/http/presentation.h"
#include "httpd/http/response.h"

#include <stddef.h>

#define FILE_CACHE_PATH_MAX (PATH_BYTES_MAX + 32) /* of a file in a directory, compressed, with the NUL */

struct file_cache;

/* Makes a cache of files below the open directory `root`, and those of the hosts, for up to `capacity`
 * entries and `contents_bytes` of contents, with heads as `presentation` wants them; hits, misses and
 * evictions are counted in `counters`. Returns NULL with errno set on failure. */
struct file_cache *file_cache_create(int root, size_t capacity, uint64_t contents_bytes,
                                     const struct hosts *hosts, const struct presentation *presentation,
                                     struct counters *counters);

/* The same over a table that others use too, as user `holder`. */
struct file_cache *file_cache_join(struct file_table *table, unsigned holder, const struct hosts *hosts,
                                   const struct presentation *presentation, struct counters *counters);

void file_cache_destroy(struct file_cache *cache);

/*
 * Looks up a decoded path or the key of one (http/hosts.h); for a directory ("" or with a trailing slash) its
 * index.html. On success returns 200 and a reference in *file; give it back with file_cache_release(). `date`
 * tells the present. Otherwise returns the status to reply with; 301 means that the path is a directory and
 * lacks the trailing slash.
 */
enum http_status file_cache_get(struct file_cache *cache, const char *path, const struct http_date *date,
                                struct cached_file **file);

/*
 * Says whether looking up a path or a key would have to wait for a disk, and writes into `wanted` for which
 * name: that of the file it stands for, or of one that lies compressed beside it. `*asked` counts the names
 * that have been asked about, from 0 on; who has had a name fetched asks again and is told of the next. It is
 * 0 again when there is nothing to wait for. A file that can be had without asking the file system is found
 * already: then *file becomes a reference, as of file_cache_get().
 */
bool file_cache_would_wait(struct file_cache *cache, const char *path, const struct http_date *date,
                           uint8_t *asked, char wanted[FILE_CACHE_PATH_MAX], struct cached_file **file);

/* Returns the path to open for what file_cache_would_wait() has written, and the descriptor (O_PATH) of the
 * directory below which that is done. */
const char *file_cache_locate(const struct file_cache *cache, const char *wanted, int *root);

void file_cache_release(struct cached_file *file);

/* Gives up to `count` descriptors back to the system by evicting entries that nobody uses. Returns how many.
 */
size_t file_cache_shed(struct file_cache *cache, size_t count);

#endif
