/*
 * See contents.h.
 */
#include "httpd/cache/contents.h"

#include "httpd/cache/hash.h"
#include "httpd/cache/lru.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define BUCKETS      16384 /* a power of two */
#define EXAMINED_MAX 64    /* contents that are looked at, from the oldest, to make room */

/* Which version of which file. Who writes a file may set back when it was modified, but not when it was
 * changed. */
struct version {
    dev_t device;
    ino_t inode;
    uint64_t size;
    struct timespec modified, changed;
};

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

struct contents {
    struct lru_link order;
    struct contents_cache *cache;
    struct version version;
    atomic_uint references; /* one of the cache if it is listed, one of each reply */
    char *bytes;            /* NULL: not loaded */
    bool used;              /* since the order was last looked at */
    bool refused;           /* they could not be loaded */
    struct contents *chain; /* of its bucket */
};

struct contents_cache {
    pthread_mutex_t lock;
    uint64_t capacity;     /* bytes */
    _Atomic uint64_t used; /* by all that is loaded, listed or not */
    struct lru order;
    struct contents *buckets[BUCKETS];
};

struct contents_cache *contents_cache_create(uint64_t bytes)
{
    struct contents_cache *cache = calloc(1, sizeof(*cache));

    if (!cache)
        return NULL;
    cache->capacity = bytes;
    pthread_mutex_init(&cache->lock, NULL);
    return cache;
}

static void lock(struct contents_cache *cache, struct counters *counters)
{
    if (pthread_mutex_trylock(&cache->lock) == 0)
        return;
    counters->lock_waits++;
    pthread_mutex_lock(&cache->lock);
}

static struct contents **bucket_of(struct contents_cache *cache, const struct version *version)
{
    return &cache->buckets[hash_number(version->inode ^ version->device << 32) & (BUCKETS - 1)];
}

static bool same_version(const struct version *a, const struct version *b)
{
    return a->inode == b->inode && a->device == b->device && a->size == b->size &&
           same_time(&a->modified, &b->modified) && same_time(&a->changed, &b->changed);
}

/* Takes contents out of the cache and gives back its reference. */
static void unlist(struct contents_cache *cache, struct contents *contents)
{
    struct contents **link = bucket_of(cache, &contents->version);

    while (*link != contents)
        link = &(*link)->chain;
    *link = contents->chain;
    lru_remove(&cache->order, &contents->order);
    contents_release(contents);
}

void contents_cache_destroy(struct contents_cache *cache)
{
    while (cache->order.oldest)
        unlist(cache, (struct contents *)cache->order.oldest);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

void contents_release(struct contents *contents)
{
    if (atomic_fetch_sub_explicit(&contents->references, 1, memory_order_acq_rel) > 1)
        return;
    if (contents->bytes)
        atomic_fetch_sub(&contents->cache->used, contents->version.size);
    free(contents->bytes);
    free(contents);
}

static struct contents *find(struct contents_cache *cache, const struct version *version)
{
    struct contents *contents = *bucket_of(cache, version);

    while (contents && !same_version(&contents->version, version))
        contents = contents->chain;
    return contents;
}

struct contents *contents_get(struct contents_cache *cache, const struct cached_file *file,
                              struct counters *counters)
{
    const struct version version = {file->device, file->inode, file->size, file->modified, file->changed};
    struct contents *contents;

    if (file->size > cache->capacity) {
        counters->contents_misses++;
        return NULL;
    }
    lock(cache, counters);
    contents = find(cache, &version);
    if (contents) {
        atomic_fetch_add_explicit(&contents->references, 1, memory_order_relaxed);
        contents->used = true;
    }
    pthread_mutex_unlock(&cache->lock);
    if (contents) {
        counters->contents_hits++;
        return contents;
    }
    counters->contents_misses++;
    contents = calloc(1, sizeof(*contents));
    if (contents) {
        contents->cache = cache;
        contents->version = version;
        atomic_init(&contents->references, 1);
    }
    return contents;
}

/* Reads the whole file. Returns false when it is shorter than it was. */
static bool read_whole(int fd, char *bytes, uint64_t size)
{
    uint64_t length = 0;

    while (length < size) {
        const ssize_t got = pread(fd, bytes + length, size - length, (off_t)length);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        length += (uint64_t)got;
    }
    return true;
}

/* Drops what nobody sends, the oldest first, until `size` more bytes fit, and counts them. What was used gets
 * a second chance: so a hit only sets a mark. Returns false if they do not fit. */
static bool make_room(struct contents_cache *cache, uint64_t size, struct counters *counters)
{
    struct contents *contents;
    int examined = 0;
    bool fits;

    lock(cache, counters);
    contents = (struct contents *)cache->order.oldest;
    while (examined < EXAMINED_MAX && contents && cache->used + size > cache->capacity) {
        struct contents *newer = (struct contents *)contents->order.newer;

        if (contents->used) {
            contents->used = false;
            lru_use(&cache->order, &contents->order);
            contents = newer ? newer : contents;
            continue;
        }
        examined++;
        if (atomic_load_explicit(&contents->references, memory_order_acquire) == 1) {
            unlist(cache, contents);
            counters->contents_evictions++;
        }
        contents = newer;
    }
    fits = cache->used + size <= cache->capacity;
    if (fits)
        cache->used += size;
    pthread_mutex_unlock(&cache->lock);
    return fits;
}

/* Puts contents that have been loaded into the cache, unless another thread has been faster. */
static void list(struct contents *contents, struct counters *counters)
{
    struct contents_cache *cache = contents->cache;
    struct contents **bucket = bucket_of(cache, &contents->version);

    lock(cache, counters);
    if (!find(cache, &contents->version)) {
        contents->chain = *bucket;
        *bucket = contents;
        lru_add(&cache->order, &contents->order);
        atomic_fetch_add_explicit(&contents->references, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&cache->lock);
}

bool contents_are_loaded(const struct contents *contents)
{
    return contents->bytes != NULL;
}

const char *contents_load(struct contents *contents, int fd, struct counters *counters)
{
    const uint64_t size = contents->version.size;

    if (contents->bytes || contents->refused)
        return contents->bytes;
    contents->refused = !make_room(contents->cache, size, counters);
    if (contents->refused)
        return NULL;
    contents->bytes = malloc(size);
    if (contents->bytes && !read_whole(fd, contents->bytes, size)) {
        free(contents->bytes);
        contents->bytes = NULL;
    }
    contents->refused = !contents->bytes;
    if (contents->refused)
        atomic_fetch_sub(&contents->cache->used, size);
    else
        list(contents, counters);
    return contents->bytes;
}
