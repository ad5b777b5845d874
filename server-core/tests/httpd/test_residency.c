/*
 * Unit tests of asking whether a file is in memory.
 */
#include "httpd/cache/residency.h"
#include "tests/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILE_BYTES 921600 /* the largest of the SPECweb99 mix */

static unsigned calls;

/* Stands in for that of the C library: counts, and asks the kernel all the same. */
ssize_t preadv2(int fd, const struct iovec *pieces, int count, off_t at, int flags)
{
    calls++;
    return syscall(SYS_preadv2, fd, pieces, count, at, 0L, flags);
}

/* Opens a new file of FILE_BYTES, which are in memory, for nobody else to see. */
static int open_file(void)
{
    static char contents[FILE_BYTES];
    char path[] = "/tmp/test_residency.XXXXXX";
    const int fd = mkstemp(path);

    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(write(fd, contents, FILE_BYTES), FILE_BYTES);
    return fd;
}

/* Drops the file from memory. Returns false where it stays: a file system in memory keeps everything. What
 * the kernel is still busy with goes a moment later. */
static bool forget(int fd)
{
    char byte;
    const struct iovec into = {.iov_base = &byte, .iov_len = 1};

    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); /* nothing is to be read that nobody asks for */
    for (int tries = 0; tries < 500; tries++) {
        fsync(fd);
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        if (preadv2(fd, &into, 1, 0, RWF_NOWAIT) < 0 && errno == EAGAIN)
            return true;
        usleep(2000);
    }
    return false;
}

static void test_a_whole_file_in_memory_takes_one_question(void **state)
{
    const int fd = open_file();

    (void)state;
    calls = 0;
    assert_true(residency_check(fd, 0, FILE_BYTES));
    assert_int_equal(calls, 1);
    assert_true(residency_check(fd, 5000, 5001));
    close(fd);
}

/* Says whether the kernel has every page of the file by now. */
static bool has_all_pages(int fd)
{
    unsigned char in_core[FILE_BYTES / 4096];
    void *mapping = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
    bool all = true;

    assert_ptr_not_equal(mapping, MAP_FAILED);
    assert_int_equal(mincore(mapping, FILE_BYTES, in_core), 0);
    for (size_t i = 0; i < FILE_BYTES / (size_t)sysconf(_SC_PAGESIZE); i++)
        all = all && (in_core[i] & 1);
    munmap(mapping, FILE_BYTES);
    return all;
}

/* Says whether a file is wrongly found in memory of which the two pages at `one` and `other` are there.
 * Asking has the kernel fetch what is missing, which a quick disk has done before the answer: then it is
 * right. So each question has a file of its own, and the pages are counted after it. */
static bool is_wrongly_resident_with(off_t one, off_t other)
{
    const int fd = open_file();
    bool wrong;
    char byte;

    if (!forget(fd)) {
        close(fd);
        return false; /* it is in memory, rightly */
    }
    assert_int_equal(pread(fd, &byte, 1, one), 1);
    assert_int_equal(pread(fd, &byte, 1, other), 1);
    assert_true(residency_check(fd, one, one + 1));
    wrong = residency_check(fd, 0, FILE_BYTES) && !has_all_pages(fd);
    close(fd);
    return wrong;
}

static void test_what_is_missing_is_found_wherever_it_lies(void **state)
{
    (void)state;
    assert_false(is_wrongly_resident_with(0, 0));
    assert_false(is_wrongly_resident_with(0, FILE_BYTES - 1));
    assert_false(is_wrongly_resident_with(FILE_BYTES - 1, FILE_BYTES - 1));
}

static void test_what_lies_behind_the_end_is_not_waited_for(void **state)
{
    const int fd = open_file();

    (void)state;
    assert_true(residency_check(fd, 0, 2 * FILE_BYTES));
    assert_true(residency_check(fd, FILE_BYTES, 2 * FILE_BYTES));
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_whole_file_in_memory_takes_one_question),
        cmocka_unit_test(test_what_is_missing_is_found_wherever_it_lies),
        cmocka_unit_test(test_what_lies_behind_the_end_is_not_waited_for),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
