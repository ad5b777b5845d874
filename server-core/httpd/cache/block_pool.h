/*
 * Blocks of memory of any size in an area that processes share, at the same addresses in all of them (it is
 * mapped before they are forked).
 *
 * DESIGN. Block sizes are rounded up to whole units; a freed block waits in the list of its size. New blocks
 * come from the end of what is in use. The area is reserved, not allocated: what was never used costs
 * nothing. Blocks stand one behind the other, so all of them can be visited, which is how a table is put in
 * order after a process has died while changing it. The caller sees to it that only one process at a time
 * allocates, frees or visits.
 */
#ifndef TRIMTAB_HTTPD_CACHE_BLOCK_POOL_H
#define TRIMTAB_HTTPD_CACHE_BLOCK_POOL_H

#include <stddef.h>

#define BLOCK_POOL_BLOCK_MAX (16 * 1024 - 64) /* bytes */

struct block_pool;

/* Reserves an area of `bytes`. Returns NULL with errno set on failure. */
struct block_pool *block_pool_create(size_t bytes);

void block_pool_destroy(struct block_pool *pool);

/* Returns a zeroed block of at least `bytes` (at most BLOCK_POOL_BLOCK_MAX), aligned to 64 bytes; NULL when
 * the area is used up. */
void *block_pool_allocate(struct block_pool *pool, size_t bytes);

void block_pool_free(struct block_pool *pool, void *block);

/* Forgets which blocks are free, and calls `is_used` for every block that is not known to be: a block of
 * which it says no, or which was being allocated or freed, is free afterwards. */
void block_pool_recover(struct block_pool *pool, int (*is_used)(void *user, void *block), void *user);

#endif
