/*
 * See block_pool.h.
 */
#include "httpd/cache/block_pool.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define UNIT_BYTES 64
#define UNITS_MAX  (BLOCK_POOL_BLOCK_MAX / UNIT_BYTES + 1) /* of a block, with its header */

/* Stands in front of a block and takes one unit. */
struct header {
    _Alignas(UNIT_BYTES) uint32_t units; /* with the header */
    uint32_t used;
    struct header *next_free;
};

struct block_pool {
    size_t bytes, in_use; /* of `area`; the rest has never been used */
    struct header *free[UNITS_MAX + 1];
    _Alignas(UNIT_BYTES) unsigned char area[];
};

struct block_pool *block_pool_create(size_t bytes)
{
    struct block_pool *pool = mmap(NULL, sizeof(*pool) + bytes, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (pool == MAP_FAILED)
        return NULL;
    pool->bytes = bytes;
    return pool;
}

void block_pool_destroy(struct block_pool *pool)
{
    munmap(pool, sizeof(*pool) + pool->bytes);
}

static struct header *take_from_the_end(struct block_pool *pool, uint32_t units)
{
    struct header *header = (struct header *)(pool->area + pool->in_use);

    if (pool->in_use + (size_t)units * UNIT_BYTES > pool->bytes)
        return NULL;
    /* In this order: if the process dies in between, the block is not there yet. */
    header->units = units;
    __atomic_store_n(&pool->in_use, pool->in_use + (size_t)units * UNIT_BYTES, __ATOMIC_RELEASE);
    return header;
}

/* Takes a free block of this size. Blocks are never divided or joined. */
static struct header *take_free(struct block_pool *pool, uint32_t units)
{
    struct header *header = pool->free[units];

    if (header)
        pool->free[units] = header->next_free;
    return header;
}

void *block_pool_allocate(struct block_pool *pool, size_t bytes)
{
    const uint32_t units = (uint32_t)((bytes + UNIT_BYTES - 1) / UNIT_BYTES) + 1;
    struct header *header;

    if (bytes > BLOCK_POOL_BLOCK_MAX) {
        errno = ENOMEM;
        return NULL;
    }
    header = take_free(pool, units);
    if (!header)
        header = take_from_the_end(pool, units);
    /* The area is used up: a larger one does as well, and stays as large. */
    for (uint32_t larger = units + 1; !header && larger <= UNITS_MAX; larger++)
        header = take_free(pool, larger);
    if (!header) {
        errno = ENOMEM;
        return NULL;
    }
    memset(header + 1, 0, (size_t)(units - 1) * UNIT_BYTES);
    __atomic_store_n(&header->used, 1, __ATOMIC_RELEASE);
    return header + 1;
}

static void put_into_list(struct block_pool *pool, struct header *header)
{
    header->used = 0;
    header->next_free = pool->free[header->units];
    pool->free[header->units] = header;
}

void block_pool_free(struct block_pool *pool, void *block)
{
    put_into_list(pool, (struct header *)block - 1);
}

void block_pool_recover(struct block_pool *pool, int (*is_used)(void *user, void *block), void *user)
{
    memset(pool->free, 0, sizeof(pool->free));
    for (size_t at = 0; at < pool->in_use;) {
        struct header *header = (struct header *)(pool->area + at);

        at += (size_t)header->units * UNIT_BYTES;
        if (!header->used || !is_used(user, header + 1))
            put_into_list(pool, header);
    }
}
