/*
 * The shared table of open files: several threads, and processes that are killed while they use it.
 */
#include "httpd/cache/file_table.h"
#include "tests/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOLDERS  4
#define CAPACITY 8
#define PATHS    24   /* more than fit */
#define CONTENTS 4096 /* bytes: of four files, in units of a KiB */
#define ROUNDS   3000

static const enum cache_lock KINDS[] = {CACHE_LOCK_MUTEX, CACHE_LOCK_RW};

static struct file_table *table;
static struct counters counters[HOLDERS];

/* In the place of the C library's: with `watching`, somebody else looks something up while a file is closed.
 */
static bool watching;
static unsigned watched;

int close(int fd)
{
    if (watching) {
        const struct file_table_user other = {1, &counters[1]};

        watched++;
        assert_null(file_table_find(table, &other, "nothing"));
    }
    return (int)syscall(SYS_close, fd);
}

static int open_descriptors(void)
{
    int count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* What the cache does for a request, with /dev/null for every file; its size says which one it stands for. */
static void use(unsigned holder, unsigned path_number)
{
    const struct file_table_user user = {holder, &counters[holder]};
    struct cached_file *file;
    char path[32];

    snprintf(path, sizeof(path), "file%u", path_number);
    file = file_table_find(table, &user, path);
    if (!file) {
        const struct cached_file made = {
            .fd = open("/dev/null", O_RDONLY | O_CLOEXEC), .size = path_number, .head_length = 4};

        assert_true(made.fd >= 0);
        file = file_table_insert(table, &user, path, &made, "head");
        assert_non_null(file);
    }
    assert_string_equal(file->path, path);
    assert_int_equal(file->size, path_number);
    assert_memory_equal(file->head, "head", 4);
    if (path_number % 5 == 0)
        file_table_remove(table, &user, file);
    file_table_release(file);
}

static void *use_many(void *argument)
{
    const unsigned holder = (unsigned)(uintptr_t)argument;
    unsigned seed = holder;

    for (int i = 0; i < ROUNDS; i++)
        use(holder, (unsigned)rand_r(&seed) % PATHS);
    return NULL;
}

static void test_threads_find_what_others_inserted_and_leave_no_descriptor_open(void **state)
{
    const int before = open_descriptors();

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        pthread_t threads[HOLDERS];

        table = file_table_create_shared(AT_FDCWD, CAPACITY, CONTENTS, KINDS[k], HOLDERS);
        assert_non_null(table);
        for (uintptr_t i = 0; i < HOLDERS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, use_many, (void *)i), 0);
        for (size_t i = 0; i < HOLDERS; i++)
            pthread_join(threads[i], NULL);
        file_table_destroy(table);
        assert_int_equal(open_descriptors(), before);
    }
}

static void test_others_look_up_while_a_file_is_closed(void **state)
{
    (void)state;
    alarm(120); /* ends a look-up that waits for a lock which its own thread holds */
    for (size_t k = 0; k < 2; k++) {
        const struct file_table_user user = {0, &counters[0]};
        const struct cached_file made = {
            .fd = open("/dev/null", O_RDONLY | O_CLOEXEC), .size = 5, .head_length = 4};

        table = file_table_create_shared(AT_FDCWD, 2, CONTENTS, KINDS[k], HOLDERS);
        assert_non_null(table);
        watched = 0;
        watching = true;
        use(0, 5); /* is removed */
        use(0, 1);
        use(0, 2);
        use(0, 3);                                                                   /* evicts */
        file_table_release(file_table_insert(table, &user, "file3", &made, "head")); /* is there already */
        assert_int_equal(file_table_shed(table, &user, 1), 1);
        watching = false;
        assert_int_equal(watched, 4);
        file_table_destroy(table);
    }
    alarm(0);
}

static void test_marked_entries_get_a_second_chance(void **state)
{
    const struct file_table_user user = {0, &counters[0]};
    struct cached_file *file;

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        table = k == 2 ? file_table_create(AT_FDCWD, 2, CONTENTS)
                       : file_table_create_shared(AT_FDCWD, 2, CONTENTS, KINDS[k], 1);
        assert_non_null(table);
        use(0, 1);
        use(0, 2);
        use(0, 1); /* marks the older one */
        use(0, 3); /* evicts the other */
        file = file_table_find(table, &user, "file1");
        assert_non_null(file);
        file_table_release(file);
        assert_null(file_table_find(table, &user, "file2"));
        file_table_destroy(table);
    }
}

static struct cached_file *insert(unsigned number, uint64_t size)
{
    const struct file_table_user user = {0, &counters[0]};
    const struct cached_file made = {
        .fd = open("/dev/null", O_RDONLY | O_CLOEXEC), .size = size, .head_length = 4};
    char path[32];

    snprintf(path, sizeof(path), "file%u", number);
    return file_table_insert(table, &user, path, &made, "head");
}

static void test_room_for_contents_is_bounded_and_given_back(void **state)
{
    const struct file_table_user user = {0, &counters[0]};

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct cached_file *first, *second, *third, *large, *empty;

        table = k == 1 ? file_table_create(AT_FDCWD, CAPACITY, CONTENTS)
                       : file_table_create_shared(AT_FDCWD, CAPACITY, CONTENTS, CACHE_LOCK_RW, 1);
        assert_non_null(table);
        large = insert(0, SMALL_FILE_BYTES + 1);
        empty = insert(1, 0);
        first = insert(2, 1025);
        second = insert(3, 2048);
        third = insert(4, 1);
        assert_null(large->contents);
        assert_null(empty->contents);
        assert_non_null(second->contents);
        assert_null(third->contents); /* the two before have all the room */
        file_table_remove(table, &user, first);
        file_table_release(first);
        file_table_remove(table, &user, third);
        file_table_release(third);
        third = insert(4, 1);
        assert_ptr_equal(third->contents, third->head + third->head_length);
        file_table_release(large);
        file_table_release(empty);
        file_table_release(second);
        file_table_release(third);
        file_table_destroy(table);
    }
}

static void test_contents_are_read_by_one_and_seen_when_they_are_there(void **state)
{
    struct cached_file *file;

    (void)state;
    table = file_table_create_shared(AT_FDCWD, CAPACITY, CONTENTS, CACHE_LOCK_RW, 1);
    assert_non_null(table);
    file = insert(0, 5);
    assert_null(file_table_contents(file));
    assert_true(file_table_wants_contents(file));
    assert_false(file_table_wants_contents(file)); /* somebody reads them */
    file_table_contents_read(file, false);
    assert_null(file_table_contents(file));
    assert_true(file_table_wants_contents(file));
    memcpy(file->contents, "bytes", 5);
    file_table_contents_read(file, true);
    assert_memory_equal(file_table_contents(file), "bytes", 5);
    assert_false(file_table_wants_contents(file));
    file_table_release(file);
    file_table_destroy(table);
}

static void test_table_serves_on_after_users_were_killed_at_any_moment(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        table = file_table_create_shared(AT_FDCWD, CAPACITY, CONTENTS, KINDS[k], HOLDERS);
        assert_non_null(table);
        for (int death = 0; death < 50; death++) {
            /* A process that shares our descriptors, as fork(2) does not make. */
            const pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);

            assert_true(pid >= 0);
            if (pid == 0) {
                for (unsigned i = 0;; i++)
                    use(1, i * 7 % PATHS);
            }
            for (int i = 0; i < 50 + death; i++)
                use(0, (unsigned)(i * 5 + death) % PATHS);
            kill(pid, SIGKILL);
            assert_int_equal(waitpid(pid, NULL, 0), pid);
            file_table_recover(table, 1);
            for (unsigned i = 0; i < PATHS; i++)
                use(0, i);
        }
        file_table_destroy(table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_find_what_others_inserted_and_leave_no_descriptor_open),
        cmocka_unit_test(test_others_look_up_while_a_file_is_closed),
        cmocka_unit_test(test_marked_entries_get_a_second_chance),
        cmocka_unit_test(test_room_for_contents_is_bounded_and_given_back),
        cmocka_unit_test(test_contents_are_read_by_one_and_seen_when_they_are_there),
        cmocka_unit_test(test_table_serves_on_after_users_were_killed_at_any_moment),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
