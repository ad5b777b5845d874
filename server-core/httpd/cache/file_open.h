/*
 * Opens files below a directory, and nothing outside it.
 */
#ifndef TRIMTAB_HTTPD_CACHE_FILE_OPEN_H
#define TRIMTAB_HTTPD_CACHE_FILE_OPEN_H

#include <linux/openat2.h>
#include <stdbool.h>

/* How file_open_beneath() opens, for who has it done. */
extern const struct open_how file_open_how;

/*
 * Opens `path` (relative, "" is the directory itself) for reading. Symbolic links are followed as long as
 * they stay below the directory `root`. Returns a descriptor, or -1 with errno: EXDEV when the path leads
 * outside.
 */
int file_open_beneath(int root, const char *path);

/* Says whether opening would have to wait for a disk, which is when not all of the path is in the kernel's
 * cache of names. Kernels that cannot tell (before 5.12) say yes. */
bool file_open_would_wait(int root, const char *path);

/*
 * The same for kernels without openat2(2) (before 5.6, or where a sandbox forbids it): walks the path
 * component by component and follows no symbolic link at all; one yields ELOOP.
 */
int file_open_walking(int root, const char *path);

#endif
