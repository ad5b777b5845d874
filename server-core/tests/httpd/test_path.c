/*
 * Targets and the paths that they mean.
 */
#include "httpd/http/path.h"
#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *target;
    const char *path; /* NULL: status */
    int status;
} VECTORS[] = {
    {"/", "", 0},
    {"", "", 0},
    {"/a", "a", 0},
    {"/a/b.c", "a/b.c", 0},
    {"/a/", "a/", 0},
    {"//a///b//", "a/b/", 0},
    {"/a?b/c", "a", 0},
    {"?a", "", 0},
    {"/%61%2f%62", "a/b", 0},
    {"/a%20b", "a b", 0},
    {"/%E4", "\xE4", 0},
    {"/%3f?x", "?", 0},
    {"/%25", "%", 0},
    {"/.", "", 0},
    {"/./a", "a", 0},
    {"/a/.", "a/", 0},
    {"/a/./b", "a/b", 0},
    {"/a/..", "", 0},
    {"/a/../b", "b", 0},
    {"/a/b/..", "a/", 0},
    {"/a/b/../..", "", 0},
    {"/..", "", 0},
    {"/../../a", "a", 0},
    {"/a/../../../b", "b", 0},
    {"/%2e%2e/a", "a", 0},
    {"/%2E./.%2e/etc", "etc", 0},
    {"/..%2f..%2fetc", "etc", 0},
    {"/a/%2e%2e%2fb", "b", 0},
    {"/...", "...", 0},
    {"/.a", ".a", 0},
    {"/a..", "a..", 0},
    {"/..a/", "..a/", 0},
    {"/%", NULL, -400},
    {"/%4", NULL, -400},
    {"/%4?1", NULL, -400},
    {"/%zz", NULL, -400},
    {"/%-1", NULL, -400},
    {"/a%00b", NULL, -400},
};

static void test_each_target_means_its_path(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(VECTORS) / sizeof(*VECTORS); i++) {
        const size_t length = strlen(VECTORS[i].target);
        char *target = malloc(length ? length : 1); /* without NUL: AddressSanitizer watches its end */
        char path[PATH_BYTES_MAX];
        int result;

        assert_non_null(target);
        memcpy(target, VECTORS[i].target, length);
        result = path_decode(target, length, path);
        free(target);
        if (!VECTORS[i].path) {
            assert_int_equal(result, VECTORS[i].status);
        } else {
            assert_int_equal(result, strlen(VECTORS[i].path));
            assert_string_equal(path, VECTORS[i].path);
        }
    }
}

static void test_path_longer_than_any_file_name_yields_414(void **state)
{
    char target[PATH_BYTES_MAX + 1];
    char path[PATH_BYTES_MAX];

    (void)state;
    memset(target, 'a', sizeof(target));
    target[0] = '/';
    assert_int_equal(path_decode(target, PATH_BYTES_MAX, path), PATH_BYTES_MAX - 1);
    assert_int_equal(path_decode(target, PATH_BYTES_MAX + 1, path), -414);
}

static void test_encoding_escapes_what_a_uri_may_not_hold(void **state)
{
    char uri[64];

    (void)state;
    assert_true(path_encode("a b/\xC3\xA4%", uri, sizeof(uri)));
    assert_string_equal(uri, "/a%20b/%C3%A4%25");
}

static void test_encoding_refuses_what_does_not_fit(void **state)
{
    char uri[8];

    (void)state;
    assert_true(path_encode("abcd", uri, sizeof(uri)));
    assert_false(path_encode("abcdefgh", uri, sizeof(uri)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_target_means_its_path),
        cmocka_unit_test(test_path_longer_than_any_file_name_yields_414),
        cmocka_unit_test(test_encoding_escapes_what_a_uri_may_not_hold),
        cmocka_unit_test(test_encoding_refuses_what_does_not_fit),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
