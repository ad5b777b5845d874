/*
 * The open-file cache over a real directory.
 */
#include "httpd/cache/file_cache.h"
#include "tests/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define CAPACITY 4
#define CONTENTS 4096 /* bytes */

static char root[64];
static struct counters counters;
static struct file_cache *cache;
static struct http_date date;
static struct presentation presentation;

static void write_file(const char *name, const char *text)
{
    const int fd = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(root, "/tmp/trimtab-cache-XXXXXX");
    if (!mkdtemp(root) || chdir(root) != 0 || mkdir("empty", 0700) != 0 || mkdir("full", 0700) != 0)
        return -1;
    write_file("full/index.html", "index");
    for (char name[2] = "a"; *name <= 'h'; ++*name)
        write_file(name, name);
    counters = (struct counters){0};
    date = (struct http_date){0};
    http_date_update(&date, 1000000000);
    presentation = (struct presentation){.types = mime_types_create(NULL, NULL)};
    cache = file_cache_create(AT_FDCWD, CAPACITY, CONTENTS, &(struct hosts){0}, &presentation, &counters);
    return cache ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[128];

    (void)state;
    file_cache_destroy(cache);
    presentation_release(&presentation);
    snprintf(command, sizeof(command), "rm -rf %s", root);
    return chdir("/") == 0 ? system(command) : -1;
}

static void assert_contents(const struct cached_file *file, const char *expected)
{
    char contents[32] = "";

    assert_int_equal(file->size, strlen(expected));
    assert_true(pread(file->fd, contents, sizeof(contents) - 1, 0) >= 0);
    assert_string_equal(contents, expected);
}

/* Gets a file that must be there, and gives it back. */
static void touch(const char *path)
{
    struct cached_file *file;

    assert_int_equal(file_cache_get(cache, path, &date, &file), HTTP_OK);
    file_cache_release(file);
}

static void next_second(void)
{
    http_date_update(&date, date.second + 1);
}

static void test_second_look_up_hits(void **state)
{
    (void)state;
    touch("a");
    touch("a");
    touch("full/");
    touch("full/index.html");
    assert_int_equal(counters.cache_misses, 2);
    assert_int_equal(counters.cache_hits, 2);
}

/* Makes it some seconds later than the files of the test have changed. */
static void settle(void)
{
    http_date_update(&date, time(NULL) + 10);
}

/* Says whether contents are kept of the file at `path`; they must be `text`. */
static bool is_kept(const char *path, const char *text)
{
    struct cached_file *file;
    bool kept;

    assert_int_equal(file_cache_get(cache, path, &date, &file), HTTP_OK);
    kept = file_table_contents(file) != NULL;
    assert_int_equal(file->size, strlen(text));
    if (kept)
        assert_memory_equal(file_table_contents(file), text, strlen(text));
    file_cache_release(file);
    return kept;
}

static void test_contents_of_a_small_file_are_kept_until_it_changes(void **state)
{
    (void)state;
    settle();
    assert_true(is_kept("a", "a"));
    write_file("a", "other");
    settle();
    next_second();
    assert_true(is_kept("a", "other"));
}

static void test_contents_of_a_file_that_has_just_changed_are_not_kept_yet(void **state)
{
    (void)state;
    http_date_update(&date, time(NULL) + 1);
    write_file("a", "now");
    assert_false(is_kept("a", "now"));
    settle();
    assert_true(is_kept("a", "now"));
}

static void test_contents_of_a_large_file_are_not_kept(void **state)
{
    char text[SMALL_FILE_BYTES + 2];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    write_file("a", text);
    settle();
    assert_false(is_kept("a", text));
}

static void test_head_tells_type_and_length_and_has_room_for_the_date(void **state)
{
    struct cached_file *file;

    (void)state;
    assert_int_equal(file_cache_get(cache, "full/", &date, &file), HTTP_OK);
    assert_contents(file, "index");
    assert_memory_equal(file->head, "HTTP/1.1 200 OK\r\n", 17);
    assert_non_null(memmem(file->head, file->head_length, "Content-Type: text/html\r\n", 25));
    assert_non_null(memmem(file->head, file->head_length, "Content-Length: 5\r\n", 19));
    assert_memory_equal(file->head + file->date_offset - 6, "Date: ", 6);
    assert_memory_equal(file->head + file->date_offset + HTTP_DATE_LENGTH, "\r\n", 2);
    assert_memory_equal(file->head + file->head_length - 4, "\r\n\r\n", 4);
    file_cache_release(file);
}

static void test_what_is_no_file_has_its_status(void **state)
{
    static const struct {
        const char *path;
        enum http_status status;
    } expected[] = {
        {"missing", HTTP_NOT_FOUND}, {"missing/", HTTP_NOT_FOUND},      {"a/", HTTP_NOT_FOUND},
        {"empty/", HTTP_FORBIDDEN},  {"empty", HTTP_MOVED_PERMANENTLY}, {"full", HTTP_MOVED_PERMANENTLY},
        {"outside", HTTP_FORBIDDEN}, {"fifo", HTTP_FORBIDDEN},          {"", HTTP_FORBIDDEN},
    };

    (void)state;
    assert_int_equal(symlink("/etc/passwd", "outside"), 0);
    assert_int_equal(mkfifo("fifo", 0600), 0);
    for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
        struct cached_file *file;

        assert_int_equal(file_cache_get(cache, expected[i].path, &date, &file), expected[i].status);
    }
}

static void test_file_not_used_lately_is_evicted(void **state)
{
    (void)state;
    touch("a");
    touch("b");
    touch("c");
    touch("d");
    touch("a"); /* now b is the oldest */
    touch("e");
    assert_int_equal(counters.cache_evictions, 1);
    counters = (struct counters){0};
    touch("a");
    touch("c");
    assert_int_equal(counters.cache_hits, 2);
    touch("b");
    assert_int_equal(counters.cache_misses, 1);
}

static void test_evicted_file_stays_open_while_it_is_used(void **state)
{
    struct cached_file *file;
    int fd;

    (void)state;
    assert_int_equal(file_cache_get(cache, "a", &date, &file), HTTP_OK);
    for (char name[2] = "b"; *name <= 'h'; ++*name)
        touch(name);
    assert_contents(file, "a");
    fd = file->fd;
    file_cache_release(file);
    assert_int_equal(fcntl(fd, F_GETFD), -1); /* closed with the last use */
}

static void test_replaced_file_is_served_anew_after_a_second(void **state)
{
    struct cached_file *file, *fresh;

    (void)state;
    assert_int_equal(file_cache_get(cache, "a", &date, &file), HTTP_OK);
    write_file("new", "replaced");
    assert_int_equal(rename("new", "a"), 0);
    next_second();
    assert_int_equal(file_cache_get(cache, "a", &date, &fresh), HTTP_OK);
    assert_contents(fresh, "replaced");
    assert_contents(file, "a"); /* a reply that is under way ends as it began */
    file_cache_release(fresh);
    file_cache_release(file);
}

static void test_deleted_file_is_missed_after_a_second(void **state)
{
    struct cached_file *file;

    (void)state;
    touch("a");
    assert_int_equal(unlink("a"), 0);
    touch("a");
    next_second();
    assert_int_equal(file_cache_get(cache, "a", &date, &file), HTTP_NOT_FOUND);
}

static void test_file_that_became_a_link_to_the_outside_is_refused_after_a_second(void **state)
{
    struct cached_file *file;

    (void)state;
    touch("a");
    assert_int_equal(unlink("a"), 0);
    assert_int_equal(symlink("/etc/passwd", "a"), 0);
    next_second();
    assert_int_equal(file_cache_get(cache, "a", &date, &file), HTTP_FORBIDDEN);
}

static void test_unused_entries_make_room_when_descriptors_run_out(void **state)
{
    struct rlimit before, tight;
    struct cached_file *used, *file;
    int highest;

    (void)state;
    assert_int_equal(file_cache_get(cache, "a", &date, &used), HTTP_OK);
    touch("b");
    touch("c");
    highest = dup(0);
    close(highest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    tight = (struct rlimit){.rlim_cur = (rlim_t)highest, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    assert_int_equal(file_cache_get(cache, "d", &date, &file), HTTP_OK);
    assert_int_equal(counters.cache_evictions, 2); /* b and c, not a, which is in use */
    assert_contents(used, "a");
    file_cache_release(used);
    file_cache_release(file);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void test_names_that_a_look_up_would_wait_for_are_told_one_by_one(void **state)
{
    static const char *const waited_for[] = {"a.br", "a.zst", "a.gz"};
    char wanted[FILE_CACHE_PATH_MAX];
    struct cached_file *file = NULL;
    uint8_t asked = 0;

    (void)state;
    assert_false(
        file_cache_would_wait(cache, "a", &date, &asked, wanted, &file)); /* it has been written just now */
    presentation.precompressed = true;
    for (size_t i = 0; i < 3; i++) {
        struct stat status;

        if (!file_cache_would_wait(cache, "a", &date, &asked, wanted, &file))
            skip(); /* this file system keeps its directories in memory */
        assert_string_equal(wanted, waited_for[i]);
        assert_int_equal(stat(wanted, &status), -1);
    }
    assert_false(file_cache_would_wait(cache, "a", &date, &asked, wanted, &file));
    assert_int_equal(asked, 0);
    assert_null(file);
    touch("a");
    assert_int_equal(counters.cache_hits, 0);
    assert_false(file_cache_would_wait(cache, "a", &date, &asked, wanted, &file));
    assert_int_equal(counters.cache_hits, 1); /* it is found at once */
    assert_contents(file, "a");
    file_cache_release(file);
    next_second(); /* the names are asked about again, and known */
    assert_false(file_cache_would_wait(cache, "a", &date, &asked, wanted, &file));
    assert_false(file_cache_would_wait(cache, "a.gz", &date, &asked, wanted, &file));
}

#define CACHE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CACHE_TEST(test_second_look_up_hits),
        CACHE_TEST(test_head_tells_type_and_length_and_has_room_for_the_date),
        CACHE_TEST(test_contents_of_a_small_file_are_kept_until_it_changes),
        CACHE_TEST(test_contents_of_a_file_that_has_just_changed_are_not_kept_yet),
        CACHE_TEST(test_contents_of_a_large_file_are_not_kept),
        CACHE_TEST(test_what_is_no_file_has_its_status),
        CACHE_TEST(test_file_not_used_lately_is_evicted),
        CACHE_TEST(test_evicted_file_stays_open_while_it_is_used),
        CACHE_TEST(test_replaced_file_is_served_anew_after_a_second),
        CACHE_TEST(test_deleted_file_is_missed_after_a_second),
        CACHE_TEST(test_file_that_became_a_link_to_the_outside_is_refused_after_a_second),
        CACHE_TEST(test_names_that_a_look_up_would_wait_for_are_told_one_by_one),
        CACHE_TEST(test_unused_entries_make_room_when_descriptors_run_out),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
