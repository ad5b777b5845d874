/*
 * See connection_pool.h.
 */
#include "httpd/connection/connection_pool.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct chunk {
    _Atomic unsigned owner; /* plus one; 0: nobody's */
    struct connection connections[CONNECTIONS_PER_CHUNK];
};

struct connection_pool {
    size_t chunk_count;
    atomic_size_t used;
    struct chunk chunks[];
};

struct connection_pool *connection_pool_create(size_t connections, unsigned owners)
{
    /* Every owner may have a chunk that is not full. */
    const size_t chunk_count = connections / CONNECTIONS_PER_CHUNK + owners;
    const size_t bytes = sizeof(struct connection_pool) + chunk_count * sizeof(struct chunk);
    struct connection_pool *pool =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (pool == MAP_FAILED)
        return NULL;
    pool->chunk_count = chunk_count;
    return pool;
}

struct connection *connection_pool_take(struct connection_pool *pool, unsigned owner)
{
    size_t index = atomic_load(&pool->used);

    do {
        if (index == pool->chunk_count)
            return NULL;
    } while (!atomic_compare_exchange_weak(&pool->used, &index, index + 1));
    atomic_store(&pool->chunks[index].owner, owner + 1);
    return pool->chunks[index].connections;
}

void connection_pool_for_each(struct connection_pool *pool, unsigned owner,
                              void (*visit)(void *user, struct connection *chunk), void *user)
{
    const size_t used = atomic_load(&pool->used);

    for (size_t i = 0; i < used; i++) {
        if (atomic_load(&pool->chunks[i].owner) == owner + 1)
            visit(user, pool->chunks[i].connections);
    }
}

static void bury_chunk(void *user, struct connection *chunk)
{
    (void)user;
    for (size_t i = 0; i < CONNECTIONS_PER_CHUNK; i++) {
        if (chunk[i].delivery.file)
            file_cache_release(chunk[i].delivery.file);
        if (chunk[i].fd > 0)
            close(chunk[i].fd);
    }
    memset(chunk, 0, CONNECTIONS_PER_CHUNK * sizeof(*chunk));
}

void connection_pool_bury(struct connection_pool *pool, unsigned owner)
{
    connection_pool_for_each(pool, owner, bury_chunk, NULL);
}
