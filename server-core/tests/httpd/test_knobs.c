/*
 * The values of knobs, and configuration files.
 */
#include "httpd/config/config.h"
#include "tests/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    enum knob_id id;
    const char *text;
    const char *formatted; /* NULL: refused */
} VALUES[] = {
    {KNOB_WORKERS, "1", "1"},
    {KNOB_WORKERS, "1024", "1024"},
    {KNOB_WORKERS, "0", NULL},
    {KNOB_WORKERS, "1025", NULL},
    {KNOB_WORKERS, "-1", NULL},
    {KNOB_WORKERS, "+1", NULL},
    {KNOB_WORKERS, " 1", NULL},
    {KNOB_WORKERS, "1x", NULL},
    {KNOB_WORKERS, "", NULL},
    {KNOB_WORKERS, "99999999999999999999", NULL},
    {KNOB_WORKERS, "inf", NULL},
    {KNOB_ACCEPT_LIMIT, "inf", "inf"},
    {KNOB_ACCEPT_LIMIT, "auto", "auto"},
    {KNOB_ACCEPT_LIMIT, "automatic", NULL},
    {KNOB_ACCEPT_LIMIT, "1", "1"},
    {KNOB_ACCEPT_LIMIT, "0", NULL},
    {KNOB_SENDFILE, "blocking", "blocking"},
    {KNOB_SENDFILE, "Blocking", NULL},
    {KNOB_SENDFILE, "", NULL},
    {KNOB_ARCHITECTURE, "sped", "sped"},
    {KNOB_ARCHITECTURE, "prefork", NULL},
    {KNOB_KEEPALIVE_TIMEOUT, "0.5", "0.5"},
    {KNOB_KEEPALIVE_TIMEOUT, "86400", "86400"},
    {KNOB_KEEPALIVE_TIMEOUT, "0", NULL},
    {KNOB_KEEPALIVE_TIMEOUT, "1e3", NULL},
    {KNOB_KEEPALIVE_TIMEOUT, "nan", NULL},
    {KNOB_KEEPALIVE_TIMEOUT, "1.2.3", NULL},
    {KNOB_KEEPALIVE_TIMEOUT, ".", NULL},
    {KNOB_LISTEN, "127.0.0.1:80", "127.0.0.1:80"},
    {KNOB_LISTEN, "127.0.0.1:80, [::1]:8080", "127.0.0.1:80,[::1]:8080"},
    {KNOB_LISTEN, "[2001:DB8::0:1]:0", "[2001:db8::1]:0"},
    {KNOB_LISTEN, "localhost:80", NULL},
    {KNOB_LISTEN, "127.0.0.1", NULL},
    {KNOB_LISTEN, "127.0.0.1:", NULL},
    {KNOB_LISTEN, "127.0.0.1:65536", NULL},
    {KNOB_LISTEN, "127.0.0.1:-1", NULL},
    {KNOB_LISTEN, "127.1:80", NULL},
    {KNOB_LISTEN, "::1:80", NULL},
    {KNOB_LISTEN, "[::1]", NULL},
    {KNOB_LISTEN, ":80", NULL},
    {KNOB_LISTEN, "127.0.0.1:80,", NULL},
    {KNOB_LISTEN, " 127.0.0.1:80 ,\t127.0.0.1:81\t", "127.0.0.1:80,127.0.0.1:81"},
    {KNOB_LISTEN, "127.0.0.1:80 127.0.0.1:81", NULL},
    {KNOB_LISTEN, "127.0.0.1:80\t127.0.0.1:81,127.0.0.1:82", NULL},
    {KNOB_LISTEN, "", NULL},
    {KNOB_AFFINITY, "0,1,0", "0,1,0"},
    {KNOB_AFFINITY, "none", "none"},
    {KNOB_AFFINITY, "", "none"},
    {KNOB_AFFINITY, "0-3", NULL},
    {KNOB_AFFINITY, "1024", NULL},
    {KNOB_AFFINITY, "0,,1", NULL},
    {KNOB_AFFINITY, "0 1", NULL},
    {KNOB_AFFINITY, "0, ,1", NULL},
    {KNOB_ROOT, "/srv", "/srv"},
    {KNOB_ROOT, "", NULL},
};

static void test_each_value_is_taken_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(VALUES) / sizeof(*VALUES); i++) {
        struct knob_value value = {0};
        char text[128];
        const bool taken = knob_parse(&KNOBS[VALUES[i].id], VALUES[i].text, &value);

        if (taken != (VALUES[i].formatted != NULL))
            fail_msg("%s = %s: taken %d", KNOBS[VALUES[i].id].name, VALUES[i].text, taken);
        if (taken) {
            knob_format(&KNOBS[VALUES[i].id], &value, text, sizeof(text));
            assert_string_equal(text, VALUES[i].formatted);
        }
        knob_release(&value);
    }
}

static void test_refused_value_leaves_the_old_one(void **state)
{
    struct knob_value value = {0};

    (void)state;
    assert_true(knob_parse(&KNOBS[KNOB_WORKERS], "7", &value));
    assert_false(knob_parse(&KNOBS[KNOB_WORKERS], "x", &value));
    assert_int_equal(value.integer, 7);
    knob_release(&value);
}

static void test_each_knob_is_found_by_its_name_and_has_help(void **state)
{
    (void)state;
    for (enum knob_id id = 0; id < KNOB_COUNT; id++) {
        assert_int_equal(knob_find(KNOBS[id].name), id);
        assert_non_null(KNOBS[id].help);
    }
    assert_int_equal(knob_find("wrokers"), KNOB_COUNT);
}

/* Reads a configuration from text; what is logged goes to stderr. */
static bool read_text(struct config *config, const char *text)
{
    char path[] = "/tmp/trimtab-config-XXXXXX";
    const int fd = mkstemp(path);
    bool ok;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    config_init(config);
    ok = config_read_file(config, path);
    unlink(path);
    return ok;
}

static void test_file_sets_knobs_and_the_others_keep_their_defaults(void **state)
{
    struct config config;

    (void)state;
    assert_true(read_text(&config, "; comment\n# comment\n\n[server]\n  workers = 3 ; three\nroot=/srv\n"
                                   "\tlisten : 127.0.0.1:80\n"));
    assert_int_equal(config_integer(&config, KNOB_WORKERS), 3);
    assert_string_equal(config_text(&config, KNOB_ROOT), "/srv");
    assert_int_equal(config.values[KNOB_LISTEN].count, 1);
    assert_int_equal(config_integer(&config, KNOB_BACKLOG), 1024);
    config_release(&config);
}

static void test_long_lines_are_read_whole(void **state)
{
    char text[6000] = "[server]\naffinity = 0";
    char *longer = text + strlen(text);
    struct config config;

    (void)state;
    for (int cpu = 1; cpu < 1000; cpu++)
        longer += sprintf(longer, "%s%d", cpu % 7 ? "," : " , ", cpu);
    strcpy(longer, "\nworkers = 5\n");
    assert_true(read_text(&config, text));
    assert_int_equal(config.values[KNOB_AFFINITY].count, 1000);
    for (int cpu = 0; cpu < 1000; cpu++)
        assert_int_equal(config.values[KNOB_AFFINITY].cpus[cpu], cpu);
    assert_int_equal(config_integer(&config, KNOB_WORKERS), 5);
    config_release(&config);
}

static void test_faulty_files_are_refused(void **state)
{
    static const char *const files[] = {
        "workers = 1\n",                        /* outside of a section */
        "[server]\nworkers = 1\nworkers = 2\n", /* twice */
        "[server]\nworkers = 1\nworkers = 1\n", /* twice the same */
        "[server]\nwrokers = 1\n",              /* unknown */
        "[server]\nworkers = 0\n",              /* out of range */
        "[server]\nworkers\n",                  /* no value */
        "[other]\n",                            /* unknown section */
        "[server\nworkers = 1\n",               /* broken section */
        "[server]\n= 1\n",                      /* no name */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        struct config config;

        if (read_text(&config, files[i]))
            fail_msg("taken: %s", files[i]);
        config_release(&config);
    }
}

static void test_connections_are_divided_evenly_and_completely(void **state)
{
    (void)state;
    for (int64_t workers = 1; workers < 20; workers++) {
        int64_t sum = 0;

        for (int64_t i = 0; i < workers; i++) {
            const int64_t share = config_share(100, workers, i);

            assert_in_range(share, 100 / workers, 100 / workers + 1);
            sum += share;
        }
        assert_int_equal(sum, 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_value_is_taken_or_refused),
        cmocka_unit_test(test_refused_value_leaves_the_old_one),
        cmocka_unit_test(test_each_knob_is_found_by_its_name_and_has_help),
        cmocka_unit_test(test_file_sets_knobs_and_the_others_keep_their_defaults),
        cmocka_unit_test(test_long_lines_are_read_whole),
        cmocka_unit_test(test_faulty_files_are_refused),
        cmocka_unit_test(test_connections_are_divided_evenly_and_completely),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
