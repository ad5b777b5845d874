/*
 * The table of a file cache: path -> open descriptor and finished reply head, with references and an order of
 * use. It opens nothing and sends nothing; that is file_cache.c.
 *
 * PRIVATE AND SHARED. A private table is of one process with one thread; its entries come from malloc. A
 * shared one is of several processes which also share their descriptors, or of several threads: it lives in
 * memory mapped before they begin, at one address in all of them, and has a lock. The lock is held for
 * look-ups, insertions and removals, never while something is opened or asked of the file system.
 *
 * ORDER OF USE. When the table is full an entry that was not used lately is evicted. A look-up only marks its
 * entry, so it writes nothing but that, and readers may do it side by side; whoever evicts takes the oldest
 * entry, and gives each marked one a second chance.
 *
 * CONTENTS. An entry of a small file has room for its contents, so that the whole reply leaves with one call.
 * All such room together is bounded; what comes when it is used up has none.
 *
 * REFERENCES are counted atomically: one of the table, one of each reply that is being sent. Who gives back
 * the last one closes the descriptor. An entry that is evicted while it is being sent lives on until then.
 */
#ifndef TRIMTAB_HTTPD_CACHE_FILE_TABLE_H
#define TRIMTAB_HTTPD_CACHE_FILE_TABLE_H

#include "httpd/cache/lru.h"
#include "httpd/config/knobs.h"
#include "httpd/counters/metrics.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define SMALL_FILE_BYTES 8192 /* a file of up to so many may be kept with its contents */

struct file_table;

struct cached_file {
    struct lru_link order; /* for the table only */
    int fd;
    uint64_t size; /* bytes */

    /* The reply head for a connection that stays open, without a Connection header and with a blank for the
     * date at date_offset. Whoever sends it makes a copy, unless the table is private and the socket takes it
     * at once. */
    size_t head_length, date_offset;
    char *head;
    size_t expires_offset; /* of another date, which is expires_s seconds ahead; 0: there is none */
    int64_t expires_s;
    unsigned codings;               /* in which the file lies compressed beside this one (CODING_BIT()) */
    char *contents;                 /* room for all of them, right behind the head; NULL: there is none */
    _Atomic uint8_t contents_state; /* enum contents_state */

    const char *mapped; /* the contents (file_table_map()); NULL: not yet */
    time_t resident;    /* when all of them were last found in memory (arch/uring_send.c) */

    /* For the table and the cache only. */
    struct file_table *table;
    atomic_uint references;
    atomic_bool used; /* since the order was last looked at */
    bool listed;      /* is in the table */
    uint32_t hash;
    _Atomic time_t checked;    /* when it was last compared with the file system */
    struct cached_file *chain; /* of its hash bucket; of the entries to be freed */
    dev_t device;
    ino_t inode;
    struct timespec modified, changed;
    char path[]; /* NUL-terminated; the head is behind it */
};

enum contents_state { CONTENTS_MISSING, CONTENTS_BEING_READ, CONTENTS_THERE };

/* Who uses the table: its number among the sharers, and where it counts lock_waits and cache_evictions. */
struct file_table_user {
    unsigned holder;
    struct counters *counters;
};

/* Makes an empty private table of files below the open directory `root`, with up to `contents_bytes` of
 * contents. Returns NULL when there is no memory. */
struct file_table *file_table_create(int root, size_t capacity, uint64_t contents_bytes);

/* The same, to be shared by `holders` users. */
struct file_table *file_table_create_shared(int root, size_t capacity, uint64_t contents_bytes,
                                            enum cache_lock lock, unsigned holders);

void file_table_destroy(struct file_table *table);

/* Returns the root directory's descriptor (O_PATH). */
int file_table_root(const struct file_table *table);

/* Looks up a path. Returns its entry with a reference, or NULL. */
struct cached_file *file_table_find(struct file_table *table, const struct file_table_user *user,
                                    const char *path);

/*
 * Inserts a copy of `file` (fd, size, what concerns the head, what tells the file from others) under the
 * path, evicting another if the table is full. Returns the entry with a reference; that is another one, and
 * file->fd has been closed, when somebody else has been faster. Returns NULL when there is no memory.
 */
struct cached_file *file_table_insert(struct file_table *table, const struct file_table_user *user,
                                      const char *path, const struct cached_file *file, const char *head);

/* Takes an entry out of the table if it still is in it. */
void file_table_remove(struct file_table *table, const struct file_table_user *user,
                       struct cached_file *file);

/* Takes out up to `count` entries that nobody uses, the oldest first. Returns how many. */
size_t file_table_shed(struct file_table *table, const struct file_table_user *user, size_t count);

/* Returns the contents that are kept with an entry; NULL if they are not there. */
static inline const char *file_table_contents(struct cached_file *file)
{
    return atomic_load_explicit(&file->contents_state, memory_order_acquire) == CONTENTS_THERE
               ? file->contents
               : NULL;
}

/* Says whether the entry is of a private table, so that nobody else looks at it now. */
bool file_table_is_private(const struct cached_file *file);

/* Says whether the caller is to read the contents of the entry into file->contents: nobody has done so yet,
 * and there is room. Then it says by file_table_contents_read() whether it could. */
bool file_table_wants_contents(struct cached_file *file);
void file_table_contents_read(struct cached_file *file, bool could);

/* Returns the contents of an entry of a private table, mapped from the page cache for as long as the entry
 * lives; NULL with errno set on failure. They are for system calls: touching what a file has lost since would
 * end the process, where send(2) fails with EFAULT. */
const char *file_table_map(struct cached_file *file);

/* Gives back a reference. */
void file_table_release(struct cached_file *file);

/* Puts the table in order after user `holder` has died. */
void file_table_recover(struct file_table *table, unsigned holder);

#endif
