/*
 * Virtual hosts: names that a request may be for, each with a root of its own. What no host has the name of
 * belongs to the server's own root.
 *
 * The open-file cache holds the files of all of them under keys: the path for the server's own root, and
 * "/N/path" for host N from 1 on. Paths are relative, so the two cannot be confused.
 */
#ifndef TRIMTAB_HTTPD_HTTP_HOSTS_H
#define TRIMTAB_HTTPD_HTTP_HOSTS_H

#include "httpd/http/path.h"
#include "httpd/http/request.h"

#include <stdbool.h>
#include <stddef.h>

#define HOSTS_MAX    999
#define HOST_KEY_MAX (PATH_BYTES_MAX + 5) /* with the NUL */

struct host {
    char *names;  /* in small letters, with spaces between them */
    char *root;   /* NULL: not given */
    char *origin; /* where its section stands */
    int fd;       /* O_PATH of the root; -1: not open */
};

struct hosts {
    struct host *all; /* host N is at place N - 1 */
    size_t count;
};

/* Decodes the target of a complete request (whose head begins at `data`) into a key for the host that it is
 * for. Returns what path_decode() does. */
int hosts_key(const struct hosts *hosts, const struct request *request, const char *data,
              char key[HOST_KEY_MAX]);

/* Returns the path in a key; if that is one of a host, *root becomes the descriptor of its root. */
const char *hosts_locate(const struct hosts *hosts, const char *key, int *root);

/* Finds the host of a name (`length` bytes, in any case of letters). Returns its number; 0: none has it. */
size_t hosts_find(const struct hosts *hosts, const char *name, size_t length);

/* Frees what it owns, and closes the roots. */
void hosts_release(struct hosts *hosts);

#endif
