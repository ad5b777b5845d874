/*
 * See residency.h.
 *
 * Two calls answer for a file in memory, whatever its size. cachestat(2) counts the pages that the kernel has
 * (Linux 6.5; of files that the process does not own it is told nothing). It also counts those that are being
 * read still, in ascending order, so of the last one is asked with preadv2(2) and RWF_NOWAIT, which returns
 * EAGAIN rather than wait.
 *
 * Where pages may be missing, or nothing was told, preadv2(2) says it of all of them: it copies what is there
 * to where nobody looks, some five times as long as counting takes, and stops where it would have to wait. A
 * page that is missing may be asked of the disk by this already, which helps whoever fetches it. File systems
 * that do not know the flag are asked by mincore(2).
 */
#include "httpd/cache/residency.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

#define PAGES_AT_ONCE 256 /* asked of mincore(2) */
#define PIECE_BYTES   16384
#define PIECES        64 /* read at once, all to the same place */
#define MOST_AT_ONCE  ((off_t)PIECES * PIECE_BYTES)

/* The structures of cachestat(2), which older headers lack. */
struct cache_range {
    uint64_t from, length;
};
struct cache_counts {
    uint64_t cached, dirty, in_writeback, evicted, recently_evicted;
};

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

/* Says whether the kernel has every page, or is reading it. */
static bool are_all_cached(int file, off_t from, off_t to, off_t page)
{
    const struct cache_range range = {(uint64_t)from, (uint64_t)(to - from)};
    struct cache_counts counts;

    return syscall(SYS_cachestat, file, &range, &counts, 0) == 0 &&
           counts.cached == (uint64_t)((to - 1) / page - from / page + 1);
}

/* Reads and forgets what is in memory from `from` to `to`, which are at most MOST_AT_ONCE apart. Returns what
 * preadv2(2) does. */
static ssize_t read_resident(int file, off_t from, off_t to)
{
    static _Thread_local char nowhere[PIECE_BYTES];
    struct iovec pieces[PIECES];
    int count = 0;

    for (off_t at = from; at < to; at += PIECE_BYTES)
        pieces[count++] = (struct iovec){
            .iov_base = nowhere,
            .iov_len = to - at < PIECE_BYTES ? (size_t)(to - at) : PIECE_BYTES,
        };
    return preadv2(file, pieces, count, from, RWF_NOWAIT);
}

bool residency_check(int file, off_t from, off_t to)
{
    const off_t page = (off_t)sysconf(_SC_PAGESIZE);
    bool stopped = false;

    if (to - from > page && are_all_cached(file, from, to, page))
        from = to - 1;
    while (from < to) {
        const off_t end = to - from < MOST_AT_ONCE ? to : from + MOST_AT_ONCE;
        const ssize_t got = read_resident(file, from, end);

        if (got < 0)
            return errno == EOPNOTSUPP && check_mapping(file, from, to, page);
        if (got == 0)
            break; /* the file ends before, and reading it waits for nothing */
        if (stopped)
            return false; /* not the end: the page was missing, and the disk has been quick */
        from += got;
        stopped = from < end;
    }
    return true;
}
