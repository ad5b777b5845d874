/*
 * Finds out whether reading a file would wait for a disk.
 */
#ifndef TRIMTAB_HTTPD_CACHE_RESIDENCY_H
#define TRIMTAB_HTTPD_CACHE_RESIDENCY_H

#include <stdbool.h>
#include <sys/types.h>

/* Says whether every page of the file from offset `from` up to `to` is in the page cache now. It may be
 * evicted the next moment. */
bool residency_check(int file, off_t from, off_t to);

#endif
