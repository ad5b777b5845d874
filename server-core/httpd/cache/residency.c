/*
 * See residency.h.
 *
 * preadv2(2) with RWF_NOWAIT returns EAGAIN rather than wait for a page. One byte of each page is asked for:
 * some 100 ns a page, where the page itself takes ten times as long to send. A page that is missing may be
 * asked of the disk by this already, which helps whoever fetches it. File systems that do not know
 * the flag are asked by mincore(2).
 */
#include "httpd/cache/residency.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGES_AT_ONCE 256 /* asked of mincore(2) */

/* The same by mincore(2). A file that cannot be mapped counts as not resident. */
static bool check_mapping(int file, off_t from, off_t to, off_t page)
{
    unsigned char in_core[PAGES_AT_ONCE];
    bool resident = true;

    from -= from % page;
    for (off_t at = from; resident && at < to; at += PAGES_AT_ONCE * page) {
        const size_t bytes = (size_t)(to - at < PAGES_AT_ONCE * page ? to - at : PAGES_AT_ONCE * page);
        void *mapping = mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, at);

        if (mapping == MAP_FAILED)
            return false;
        resident = mincore(mapping, bytes, in_core) == 0;
        for (size_t i = 0; resident && i < (bytes + (size_t)page - 1) / (size_t)page; i++)
            resident = in_core[i] & 1;
        munmap(mapping, bytes);
    }
    return resident;
}

bool residency_check(int file, off_t from, off_t to)
{
    const off_t page = (off_t)sysconf(_SC_PAGESIZE);
    char byte;
    const struct iovec into = {.iov_base = &byte, .iov_len = 1};

    for (off_t at = from; at < to; at += page - at % page) {
        if (preadv2(file, &into, 1, at, RWF_NOWAIT) >= 0)
            continue; /* 0: the file ends before, and reading it waits for nothing */
        return errno == EOPNOTSUPP && check_mapping(file, from, to, page);
    }
    return true;
}
