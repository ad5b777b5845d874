/*
 * The lock of a shared table, among threads and among processes that die.
 */
#include "httpd/cache/table_lock.h"
#include "tests/unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOLDERS 4
#define ROUNDS  20000

static const enum cache_lock KINDS[] = {CACHE_LOCK_MUTEX, CACHE_LOCK_RW};

static struct table_lock *lock;
static uint64_t guarded;

static void make_lock(enum cache_lock kind)
{
    void *memory = mmap(NULL, table_lock_bytes(kind, HOLDERS), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(memory, MAP_FAILED);
    lock = table_lock_init(memory, kind, HOLDERS);
}

static void drop_lock(enum cache_lock kind)
{
    munmap(lock, table_lock_bytes(kind, HOLDERS));
}

static void *count(void *holder)
{
    for (int i = 0; i < ROUNDS; i++) {
        table_lock_write(lock, (unsigned)(uintptr_t)holder);
        guarded++;
        table_unlock_write(lock, (unsigned)(uintptr_t)holder);
        table_lock_read(lock, (unsigned)(uintptr_t)holder);
        assert_true(guarded > 0);
        table_unlock_read(lock, (unsigned)(uintptr_t)holder);
    }
    return NULL;
}

static void test_writers_exclude_everybody(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        pthread_t threads[HOLDERS];

        make_lock(KINDS[k]);
        guarded = 0;
        for (uintptr_t i = 0; i < HOLDERS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, count, (void *)i), 0);
        for (size_t i = 0; i < HOLDERS; i++)
            pthread_join(threads[i], NULL);
        assert_int_equal(guarded, (uint64_t)HOLDERS * ROUNDS);
        drop_lock(KINDS[k]);
    }
}

static void test_readers_do_not_wait_for_each_other_with_the_rw_lock(void **state)
{
    (void)state;
    make_lock(CACHE_LOCK_RW);
    assert_false(table_lock_read(lock, 0));
    assert_false(table_lock_read(lock, 1)); /* does not wait */
    drop_lock(CACHE_LOCK_RW);
}

/* Has holder 1 die in another process with the lock in its hands. */
static void die_holding(bool (*acquire)(struct table_lock *, unsigned))
{
    const pid_t pid = fork();
    int status;

    if (pid == 0) {
        acquire(lock, 1);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void test_lock_of_a_dead_writer_is_inherited(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        make_lock(KINDS[k]);
        assert_false(table_lock_inherit(lock, 1));
        die_holding(table_lock_write);
        assert_false(table_lock_inherit(lock, 0));
        assert_true(table_lock_inherit(lock, 1));
        table_unlock_write(lock, 1);
        assert_false(table_lock_write(lock, 2)); /* is free */
        drop_lock(KINDS[k]);
    }
}

static void test_dead_reader_of_many_leaves_nothing_to_repair(void **state)
{
    (void)state;
    make_lock(CACHE_LOCK_RW);
    die_holding(table_lock_read);
    assert_false(table_lock_inherit(lock, 1));
    assert_false(table_lock_write(lock, 2));
    drop_lock(CACHE_LOCK_RW);
}

static void *write_once(void *waited)
{
    *(bool *)waited = table_lock_write(lock, 2);
    table_unlock_write(lock, 2);
    return NULL;
}

static void test_who_waits_for_a_dead_holder_goes_on_after_the_inheritance(void **state)
{
    pthread_t thread;
    bool waited = false;

    (void)state;
    make_lock(CACHE_LOCK_RW);
    die_holding(table_lock_write);
    assert_int_equal(pthread_create(&thread, NULL, write_once, &waited), 0);
    assert_true(table_lock_inherit(lock, 1));
    table_unlock_write(lock, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    drop_lock(CACHE_LOCK_RW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writers_exclude_everybody),
        cmocka_unit_test(test_readers_do_not_wait_for_each_other_with_the_rw_lock),
        cmocka_unit_test(test_lock_of_a_dead_writer_is_inherited),
        cmocka_unit_test(test_dead_reader_of_many_leaves_nothing_to_repair),
        cmocka_unit_test(test_who_waits_for_a_dead_holder_goes_on_after_the_inheritance),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
