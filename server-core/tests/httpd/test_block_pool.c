/*
 * Blocks in shared memory, also after an owner died in the middle of something.
 */
#include "httpd/cache/block_pool.h"
#include "tests/unit.h"

#include <stdint.h>
#include <string.h>

#define POOL_BYTES 65536

static struct block_pool *pool;

static int set_up(void **state)
{
    (void)state;
    pool = block_pool_create(POOL_BYTES);
    return pool ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    block_pool_destroy(pool);
    return 0;
}

static void test_blocks_are_zeroed_aligned_and_apart(void **state)
{
    unsigned char *blocks[20];

    (void)state;
    for (size_t i = 0; i < 20; i++) {
        blocks[i] = block_pool_allocate(pool, 100 + i);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 64, 0);
        for (size_t j = 0; j < 100 + i; j++)
            assert_int_equal(blocks[i][j], 0);
        memset(blocks[i], (int)i + 1, 100 + i);
    }
    for (size_t i = 0; i < 20; i++) {
        for (size_t j = 0; j < 100 + i; j++)
            assert_int_equal(blocks[i][j], i + 1);
    }
}

static void test_freed_block_is_used_again_and_zeroed(void **state)
{
    unsigned char *block = block_pool_allocate(pool, 200), *again;

    (void)state;
    memset(block, 1, 200);
    block_pool_free(pool, block);
    again = block_pool_allocate(pool, 250); /* as many units */
    assert_ptr_equal(again, block);
    assert_int_equal(again[0], 0);
}

static void test_full_pool_and_too_large_a_block_yield_none(void **state)
{
    (void)state;
    assert_null(block_pool_allocate(pool, BLOCK_POOL_BLOCK_MAX + 1));
    for (int i = 0; i < POOL_BYTES / 1024; i++)
        block_pool_allocate(pool, 1000);
    assert_null(block_pool_allocate(pool, 1000));
}

static void test_full_pool_gives_a_larger_block(void **state)
{
    unsigned char *large = block_pool_allocate(pool, 1000), *small;

    (void)state;
    memset(large, 1, 1000);
    while (block_pool_allocate(pool, 100)) {
    }
    block_pool_free(pool, large);
    small = block_pool_allocate(pool, 100);
    assert_ptr_equal(small, large);
    assert_int_equal(small[99], 0);
    assert_null(block_pool_allocate(pool, 100));
    block_pool_free(pool, small);
    assert_ptr_equal(block_pool_allocate(pool, 1000), large); /* it has kept its size */
}

static int is_kept(void *user, void *block)
{
    return block == user;
}

static void test_recovery_keeps_what_is_used_and_frees_the_rest(void **state)
{
    unsigned char *lost = block_pool_allocate(pool, 100), *kept = block_pool_allocate(pool, 100);
    unsigned char *freed = block_pool_allocate(pool, 100), *first, *second;

    (void)state;
    memset(kept, 7, 100);
    block_pool_free(pool, freed);
    block_pool_recover(pool, is_kept, kept);
    first = block_pool_allocate(pool, 100);
    second = block_pool_allocate(pool, 100);
    assert_true((first == lost && second == freed) || (first == freed && second == lost));
    assert_int_equal(kept[99], 7);
}

#define POOL_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        POOL_TEST(test_blocks_are_zeroed_aligned_and_apart),
        POOL_TEST(test_freed_block_is_used_again_and_zeroed),
        POOL_TEST(test_full_pool_and_too_large_a_block_yield_none),
        POOL_TEST(test_full_pool_gives_a_larger_block),
        POOL_TEST(test_recovery_keeps_what_is_used_and_frees_the_rest),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
