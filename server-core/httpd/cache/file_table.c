/*
 * See file_table.h.
 *
 * An entry of a shared table is given back by whoever used it last, who does not hold the lock. So it is put
 * on a list (a push needs one compare-and-swap), and the next insertion, which has the lock, frees it.
 */
#include "httpd/cache/file_table.h"

#include "httpd/cache/block_pool.h"
#include "httpd/cache/file_close.h"
#include "httpd/cache/hash.h"
#include "httpd/cache/table_lock.h"
#include "httpd/counters/scoreboard.h"
#include "httpd/http/path.h"
#include "httpd/http/response.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What is reserved for each entry, besides contents: far more than an average path and head take. */
#define POOL_BYTES_PER_ENTRY 2048
#define POOL_BYTES_MIN (4096 * (size_t)(sizeof(struct cached_file) + PATH_BYTES_MAX + RESPONSE_HEAD_MAX))

#define CONTENTS_UNIT ((size_t)1024) /* room is given in, so that few sizes of blocks are needed */

struct file_table {
    int root;
    size_t capacity, count;
    uint64_t contents_capacity;     /* bytes */
    _Atomic uint64_t contents_room; /* that entries have */
    struct lru order;               /* of use */
    uint32_t mask;                  /* number of buckets - 1 */
    struct cached_file **buckets;

    /* Of a shared table; NULL in a private one. */
    struct table_lock *lock;
    struct block_pool *pool;
    _Atomic(struct cached_file *) unused; /* to be freed */
    size_t mapped;                        /* bytes */
};

static uint32_t bucket_count(size_t capacity)
{
    uint32_t buckets = 16;

    while (buckets < capacity)
        buckets *= 2;
    return buckets;
}

static void set_up(struct file_table *table, int root, size_t capacity, uint64_t contents_bytes)
{
    table->root = root;
    table->capacity = capacity;
    table->contents_capacity = contents_bytes;
    table->mask = bucket_count(capacity) - 1;
}

struct file_table *file_table_create(int root, size_t capacity, uint64_t contents_bytes)
{
    struct file_table *table =
        calloc(1, whole_lines(sizeof(*table)) + bucket_count(capacity) * sizeof(*table->buckets));

    if (!table)
        return NULL;
    table->buckets = (struct cached_file **)((char *)table + whole_lines(sizeof(*table)));
    set_up(table, root, capacity, contents_bytes);
    return table;
}

struct file_table *file_table_create_shared(int root, size_t capacity, uint64_t contents_bytes,
                                            enum cache_lock lock, unsigned holders)
{
    const size_t lock_at = whole_lines(sizeof(struct file_table));
    const size_t buckets_at = lock_at + whole_lines(table_lock_bytes(lock, holders));
    const size_t bytes = buckets_at + bucket_count(capacity) * sizeof(struct cached_file *);
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct file_table *table = (struct file_table *)memory;

    if (memory == MAP_FAILED)
        return NULL;
    table->lock = table_lock_init(memory + lock_at, lock, holders);
    table->buckets = (struct cached_file **)(memory + buckets_at);
    table->mapped = bytes;
    table->pool = block_pool_create(POOL_BYTES_MIN + capacity * POOL_BYTES_PER_ENTRY + 2 * contents_bytes);
    if (!table->pool) {
        munmap(table, bytes);
        return NULL;
    }
    set_up(table, root, capacity, contents_bytes);
    return table;
}

int file_table_root(const struct file_table *table)
{
    return table->root;
}

static void lock_read(struct file_table *table, const struct file_table_user *user)
{
    if (table->lock && table_lock_read(table->lock, user->holder))
        user->counters->lock_waits++;
}

static void unlock_read(struct file_table *table, const struct file_table_user *user)
{
    if (table->lock)
        table_unlock_read(table->lock, user->holder);
}

static void lock_write(struct file_table *table, const struct file_table_user *user)
{
    if (table->lock && table_lock_write(table->lock, user->holder))
        user->counters->lock_waits++;
}

static void unlock_write(struct file_table *table, const struct file_table_user *user)
{
    if (table->lock)
        table_unlock_write(table->lock, user->holder);
}

/* Returns how much room a file gets for its contents; 0: it is not small, or empty. */
static size_t contents_room(uint64_t size)
{
    return size > SMALL_FILE_BYTES ? 0 : ((size_t)size + CONTENTS_UNIT - 1) / CONTENTS_UNIT * CONTENTS_UNIT;
}

bool file_table_is_private(const struct cached_file *file)
{
    return !file->table->lock;
}

bool file_table_wants_contents(struct cached_file *file)
{
    uint8_t missing = CONTENTS_MISSING;

    return file->contents &&
           atomic_compare_exchange_strong(&file->contents_state, &missing, CONTENTS_BEING_READ);
}

void file_table_contents_read(struct cached_file *file, bool could)
{
    atomic_store_explicit(&file->contents_state, could ? CONTENTS_THERE : CONTENTS_MISSING,
                          memory_order_release);
}

const char *file_table_map(struct cached_file *file)
{
    if (!file->mapped) {
        void *mapped = mmap(NULL, file->size, PROT_READ, MAP_SHARED, file->fd, 0);

        if (mapped != MAP_FAILED)
            file->mapped = mapped;
    }
    return file->mapped;
}

/* Gives back a reference. Returns whether it was the last one. */
static bool drop_reference(struct cached_file *file)
{
    unsigned references;

    if (file->table->lock)
        return atomic_fetch_sub(&file->references, 1) == 1;
    references = atomic_load_explicit(&file->references, memory_order_relaxed) - 1; /* nobody else counts */
    atomic_store_explicit(&file->references, references, memory_order_relaxed);
    return references == 0;
}

static void add_reference(struct cached_file *file)
{
    if (file->table->lock)
        atomic_fetch_add(&file->references, 1);
    else
        atomic_store_explicit(&file->references,
                              atomic_load_explicit(&file->references, memory_order_relaxed) + 1,
                              memory_order_relaxed);
}

void file_table_release(struct cached_file *file)
{
    struct file_table *table = file->table;

    if (!drop_reference(file))
        return;
    file_close(file->fd, (void *)(uintptr_t)file->mapped, file->size);
    if (file->contents)
        atomic_fetch_sub(&table->contents_room, contents_room(file->size));
    if (!table->pool) {
        free(file);
        return;
    }
    file->chain = atomic_load(&table->unused);
    while (!atomic_compare_exchange_weak(&table->unused, &file->chain, file)) {
    }
}

/* Returns the entry used longest ago; NULL if there is none. */
static struct cached_file *oldest(const struct file_table *table)
{
    return (struct cached_file *)table->order.oldest;
}

static void link_file(struct file_table *table, struct cached_file *file)
{
    struct cached_file **bucket = &table->buckets[file->hash & table->mask];

    file->chain = *bucket;
    *bucket = file;
    lru_add(&table->order, &file->order);
    table->count++;
}

/* Takes an entry out of the table. The table's reference is to be given back (release_all()) when the lock
 * is: closing the last descriptor of a deleted file frees its blocks, which takes long if it was large. */
static void take_out(struct file_table *table, struct cached_file *file, struct cached_file **taken)
{
    struct cached_file **link = &table->buckets[file->hash & table->mask];

    while (*link != file)
        link = &(*link)->chain;
    *link = file->chain;
    lru_remove(&table->order, &file->order);
    table->count--;
    file->listed = false;
    file->chain = *taken;
    *taken = file;
}

/* Gives back the table's references to entries that were taken out. */
static void release_all(struct cached_file *taken)
{
    while (taken) {
        struct cached_file *next = taken->chain;

        file_table_release(taken);
        taken = next;
    }
}

static struct cached_file *find(struct file_table *table, const char *path, uint32_t hash)
{
    struct cached_file *file = table->buckets[hash & table->mask];

    while (file && (file->hash != hash || strcmp(file->path, path) != 0))
        file = file->chain;
    return file;
}

struct cached_file *file_table_find(struct file_table *table, const struct file_table_user *user,
                                    const char *path)
{
    const uint32_t hash = hash_text(path);
    struct cached_file *file;

    lock_read(table, user);
    file = find(table, path, hash);
    if (file) {
        if (!atomic_load_explicit(&file->used, memory_order_relaxed))
            atomic_store_explicit(&file->used, true, memory_order_relaxed);
        add_reference(file);
    }
    unlock_read(table, user);
    return file;
}

static void evict_one(struct file_table *table, const struct file_table_user *user,
                      struct cached_file **taken)
{
    /* Ends: each turn takes a mark away, and nobody can set one meanwhile. */
    while (atomic_exchange_explicit(&oldest(table)->used, false, memory_order_relaxed))
        lru_use(&table->order, table->order.oldest);
    take_out(table, oldest(table), taken);
    user->counters->cache_evictions++;
}

static struct cached_file *allocate(struct file_table *table, size_t bytes)
{
    struct cached_file *file;

    if (!table->pool)
        return malloc(bytes);
    file = atomic_exchange(&table->unused, NULL);
    while (file) {
        struct cached_file *next = file->chain;

        block_pool_free(table->pool, file);
        file = next;
    }
    return block_pool_allocate(table->pool, bytes);
}

/* Makes an entry with one reference, of the table, and puts it in. */
static struct cached_file *add_file(struct file_table *table, const struct file_table_user *user,
                                    const char *path, uint32_t hash, const struct cached_file *made_from,
                                    const char *head, struct cached_file **taken)
{
    const size_t path_bytes = strlen(path) + 1;
    const size_t bytes = sizeof(struct cached_file) + path_bytes + made_from->head_length;
    struct cached_file *file;
    size_t room;

    if (table->count == table->capacity)
        evict_one(table, user, taken);
    room = contents_room(made_from->size);
    if (atomic_load(&table->contents_room) + room > table->contents_capacity)
        room = 0;
    file = allocate(table, bytes + room);
    if (!file && room > 0) {
        room = 0;
        file = allocate(table, bytes);
    }
    if (!file)
        return NULL;
    atomic_fetch_add(&table->contents_room, room);
    *file = *made_from;
    file->table = table;
    file->hash = hash;
    file->head = file->path + path_bytes;
    memcpy(file->path, path, path_bytes);
    memcpy(file->head, head, file->head_length);
    if (room > 0)
        file->contents = file->head + file->head_length;
    file->references = 1;
    file->listed = true;
    link_file(table, file);
    return file;
}

struct cached_file *file_table_insert(struct file_table *table, const struct file_table_user *user,
                                      const char *path, const struct cached_file *file, const char *head)
{
    const uint32_t hash = hash_text(path);
    struct cached_file *taken = NULL;
    struct cached_file *found, *entry;

    lock_write(table, user);
    found = table->lock ? find(table, path, hash) : NULL;
    entry = found ? found : add_file(table, user, path, hash, file, head, &taken);
    if (entry)
        atomic_fetch_add(&entry->references, 1);
    unlock_write(table, user);
    if (found)
        close(file->fd);
    release_all(taken);
    return entry;
}

void file_table_remove(struct file_table *table, const struct file_table_user *user, struct cached_file *file)
{
    struct cached_file *taken = NULL;

    lock_write(table, user);
    if (file->listed)
        take_out(table, file, &taken);
    unlock_write(table, user);
    release_all(taken);
}

size_t file_table_shed(struct file_table *table, const struct file_table_user *user, size_t count)
{
    struct cached_file *taken = NULL;
    size_t shed = 0;

    lock_write(table, user);
    for (struct cached_file *file = oldest(table); file && shed < count;) {
        struct cached_file *next = (struct cached_file *)file->order.newer;

        if (atomic_load(&file->references) == 1) {
            take_out(table, file, &taken);
            user->counters->cache_evictions++;
            shed++;
        }
        file = next;
    }
    unlock_write(table, user);
    release_all(taken);
    return shed;
}

void file_table_destroy(struct file_table *table)
{
    struct cached_file *taken = NULL;

    while (oldest(table))
        take_out(table, oldest(table), &taken);
    release_all(taken);
    if (!table->pool) {
        free(table);
        return;
    }
    block_pool_destroy(table->pool);
    munmap(table, table->mapped);
}

/* An entry of the table goes back into it. One that is not in it is being sent, or waits to be freed; only a
 * block that had not become an entry yet is free. */
static int keep_or_free(void *user, void *block)
{
    struct file_table *table = user;
    struct cached_file *file = block;

    if (file->table != table)
        return 0;
    if (file->listed)
        link_file(table, file);
    return 1;
}

void file_table_recover(struct file_table *table, unsigned holder)
{
    if (!table_lock_inherit(table->lock, holder))
        return;
    memset(table->buckets, 0, (table->mask + 1) * sizeof(*table->buckets));
    table->order = (struct lru){0};
    table->count = 0;
    block_pool_recover(table->pool, keep_or_free, table);
    table_unlock_write(table->lock, holder);
}
