/*
 * Closes files that the cache has given up.
 *
 * When a file has been deleted or replaced, whoever closes it last frees its blocks and its pages in memory,
 * and whoever takes away a mapping looks through all of it: for a large file either takes long. An
 * architecture whose event loop is not to wait leaves that to a thread which does nothing else and then ends.
 * It is seldom needed, so there is none that waits for it.
 */
#ifndef TRIMTAB_HTTPD_CACHE_FILE_CLOSE_H
#define TRIMTAB_HTTPD_CACHE_FILE_CLOSE_H

#include <stdbool.h>
#include <stddef.h>

/* Says whether this process leaves what takes long to a thread. At first it does not. */
void file_close_set_aside(bool aside);

/* Closes a file, of which `bytes` are mapped at `mapped`; NULL: none. */
void file_close(int fd, void *mapped, size_t bytes);

#endif
