/*
 * Both ways of opening files below a root, in a real directory with links that lead astray.
 */
#include "httpd/cache/file_open.h"
#include "tests/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char base[] = "/tmp/trimtab-open-XXXXXX";
static int root;

static void write_file(const char *path, const char *text)
{
    const int fd = open(path, O_CREAT | O_WRONLY, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

/* base/secret, and base/root with: file, dir/file, inside -> dir/file, outside -> ../secret, up -> .. ,
 * absolute -> base/root/file, dirlink -> dir. */
static int make_tree(void **state)
{
    char absolute[sizeof(base) + 16];

    (void)state;
    if (!mkdtemp(base) || chdir(base) != 0)
        return -1;
    write_file("secret", "secret");
    if (mkdir("root", 0700) != 0 || mkdir("root/dir", 0700) != 0)
        return -1;
    write_file("root/file", "file");
    write_file("root/dir/file", "dir/file");
    snprintf(absolute, sizeof(absolute), "%s/root/file", base);
    if (symlink("dir/file", "root/inside") != 0 || symlink("../secret", "root/outside") != 0 ||
        symlink("..", "root/up") != 0 || symlink(absolute, "root/absolute") != 0 ||
        symlink("dir", "root/dirlink") != 0 || symlink("loop", "root/loop") != 0)
        return -1;
    root = open("root", O_PATH | O_DIRECTORY);
    return root >= 0 ? 0 : -1;
}

static int remove_tree(void **state)
{
    static const char *const files[] = {"secret",        "root/file",    "root/dir/file",
                                        "root/inside",   "root/outside", "root/up",
                                        "root/absolute", "root/dirlink", "root/loop"};

    (void)state;
    close(root);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        unlink(files[i]);
    return rmdir("root/dir") == 0 && rmdir("root") == 0 && chdir("/") == 0 && rmdir(base) == 0 ? 0 : -1;
}

struct expectation {
    const char *path;
    const char *contents; /* NULL: errno; "": a directory */
    int error;
};

static void check(int (*open_function)(int, const char *), const struct expectation *expected)
{
    char contents[32] = "";
    const int fd = open_function(root, expected->path);
    const int error = errno;

    if (!expected->contents) {
        if (fd >= 0 || error != expected->error)
            fail_msg("%s: opened %d, errno %s", expected->path, fd >= 0, strerror(error));
        return;
    }
    if (fd < 0)
        fail_msg("%s: %s", expected->path, strerror(error));
    if (*expected->contents) {
        assert_true(read(fd, contents, sizeof(contents) - 1) >= 0);
        assert_string_equal(contents, expected->contents);
    }
    close(fd);
}

static void test_openat2_opens_what_lies_beneath_and_nothing_else(void **state)
{
    static const struct expectation expectations[] = {
        {"file", "file", 0},
        {"dir/file", "dir/file", 0},
        {"", "", 0},
        {"dir", "", 0},
        {"dir/", "", 0},
        {"inside", "dir/file", 0},
        {"dirlink/file", "dir/file", 0},
        {"outside", NULL, EXDEV},
        {"up/secret", NULL, EXDEV},
        {"../secret", NULL, EXDEV},
        {"absolute", NULL, EXDEV},
        {"/etc/passwd", NULL, EXDEV},
        {"loop", NULL, ELOOP},
        {"missing", NULL, ENOENT},
        {"file/", NULL, ENOTDIR},
        {"file/x", NULL, ENOTDIR},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(expectations) / sizeof(*expectations); i++)
        check(file_open_beneath, &expectations[i]);
}

static void test_walking_follows_no_link_at_all(void **state)
{
    static const struct expectation expectations[] = {
        {"file", "file", 0},
        {"dir/file", "dir/file", 0},
        {"", "", 0},
        {"dir", "", 0},
        {"dir/", "", 0},
        {"inside", NULL, ELOOP},
        {"dirlink/file", NULL, ELOOP},
        {"outside", NULL, ELOOP},
        {"up/secret", NULL, ELOOP},
        {"../secret", NULL, EXDEV},
        {"dir/../../secret", NULL, EXDEV},
        {"absolute", NULL, ELOOP},
        {"loop", NULL, ELOOP},
        {"missing", NULL, ENOENT},
        {"file/", NULL, ENOTDIR},
        {"file/x", NULL, ENOTDIR},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(expectations) / sizeof(*expectations); i++)
        check(file_open_walking, &expectations[i]);
}

static void test_walking_refuses_a_name_longer_than_any_file_has(void **state)
{
    char name[512];

    (void)state;
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(file_open_walking(root, name), -1);
    assert_int_equal(errno, ENAMETOOLONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_openat2_opens_what_lies_beneath_and_nothing_else),
        cmocka_unit_test(test_walking_follows_no_link_at_all),
        cmocka_unit_test(test_walking_refuses_a_name_longer_than_any_file_has),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
