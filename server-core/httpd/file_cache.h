/*
 * The cache of a worker: path -> open descriptor and finished reply head. It holds no file data; those are in
 * the kernel's page cache, from where sendfile(2) sends them.
 *
 * DESIGN. A hash table with chains, sized for its capacity, and a list in the order of use. When it is full
 * the entry that was used longest ago is evicted. Entries are counted references: one that is evicted or
 * replaced while a reply is being sent lives on until that reply ends, so every reply is of one version of
 * its file.
 *
 * An entry that is hit is compared with the file system (fstatat) when that has not been done within the last
 * second; if the file was replaced or changed, it is opened anew. So a change is seen at most a second late.
 */
#ifndef TRIMTAB_HTTPD_FILE_CACHE_H
#define TRIMTAB_HTTPD_FILE_CACHE_H

#include "httpd/http/response.h"
#include "httpd/metrics.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cached_file {
    int fd;
    uint64_t size; /* bytes */

    /* The reply head for a connection that stays open, without a Connection header. */
    size_t head_length;
    char *head;

    /* For the cache only. */
    unsigned references;
    uint32_t hash;
    struct cached_file *chain;         /* of its hash bucket */
    struct cached_file *newer, *older; /* in the order of use */
    time_t checked;                    /* when it was last compared with the file system */
    time_t date_second;                /* of the date in the head */
    char *date;                        /* where that is */
    dev_t device;
    ino_t inode;
    struct timespec modified, changed;
    char path[]; /* NUL-terminated; the head is behind it */
};

struct file_cache;

/* Opens the cache of files below directory `root` for up to `capacity` entries; hits, misses and evictions
 * are counted in `counters`. Returns NULL with errno set on failure. */
struct file_cache *file_cache_create(const char *root, size_t capacity, struct counters *counters);

void file_cache_destroy(struct file_cache *cache);

/*
 * Looks up a decoded path (http/path.h); for a directory ("" or with a trailing slash) its index.html. On
 * success returns 200 and a reference in *file, whose head carries the date `date`; give it back with
 * file_cache_release(). Otherwise returns the status to reply with; 301 means that the path is a directory
 * and lacks the trailing slash.
 */
enum http_status file_cache_get(struct file_cache *cache, const char *path, const struct http_date *date,
                                struct cached_file **file);

void file_cache_release(struct cached_file *file);

/* Gives up to `count` descriptors back to the system by evicting entries that nobody uses. Returns how many.
 */
size_t file_cache_shed(struct file_cache *cache, size_t count);

#endif
