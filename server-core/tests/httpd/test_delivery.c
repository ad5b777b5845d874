/*
 * Deliveries: what may not wait for a disk reads nothing into the cache of contents; whoever may, does.
 */
#include "httpd/cache/contents.h"
#include "httpd/http/reply.h"
#include "httpd/send/delivery.h"
#include "tests/unit.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define FILE_BYTES 20000

struct setting {
    struct cached_file *file;
    struct contents_cache *cache;
    struct counters counters;
    struct reply reply;
    struct delivery delivery;
    int sockets[2];
};

static void set_up(struct setting *setting)
{
    *setting = (struct setting){.reply = {.end = FILE_BYTES}};
    setting->file = calloc(1, sizeof(*setting->file) + 1);
    assert_non_null(setting->file);
    setting->file->fd = memfd_create("file", 0);
    setting->file->size = FILE_BYTES;
    assert_int_equal(ftruncate(setting->file->fd, FILE_BYTES), 0);
    for (off_t at = 0; at < FILE_BYTES; at++) /* a hole would not be in memory */
        assert_int_equal(pwrite(setting->file->fd, "x", 1, at), 1);
    setting->cache = contents_cache_create(1 << 20);
    assert_non_null(setting->cache);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, setting->sockets), 0);
    setting->delivery.file = setting->file;
    delivery_begin(&setting->delivery, &setting->reply, setting->sockets[0], SENDFILE_OFF, setting->cache,
                   &setting->counters);
    assert_non_null(setting->delivery.contents);
}

static void tear_down(struct setting *setting)
{
    contents_release(setting->delivery.contents);
    contents_cache_destroy(setting->cache);
    close(setting->sockets[0]);
    close(setting->sockets[1]);
    close(setting->file->fd);
    free(setting->file);
}

static void test_pass_that_may_not_wait_sends_and_leaves_reading_the_contents_to_others(void **state)
{
    struct setting setting;

    (void)state;
    set_up(&setting);
    assert_int_equal(
        delivery_pass_resident(&setting.delivery, &setting.reply, setting.sockets[0], &setting.counters),
        SEND_COMPLETE);
    assert_int_equal(setting.counters.bytes_sent, FILE_BYTES);
    assert_false(contents_are_loaded(setting.delivery.contents));
    tear_down(&setting);
}

static void test_pass_that_may_wait_reads_the_contents(void **state)
{
    struct setting setting;

    (void)state;
    set_up(&setting);
    assert_int_equal(delivery_pass(&setting.delivery, &setting.reply, setting.sockets[0], &setting.counters),
                     SEND_COMPLETE);
    assert_int_equal(setting.counters.bytes_sent, FILE_BYTES);
    assert_true(contents_are_loaded(setting.delivery.contents));
    tear_down(&setting);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pass_that_may_not_wait_sends_and_leaves_reading_the_contents_to_others),
        cmocka_unit_test(test_pass_that_may_wait_reads_the_contents),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
