/*
 * What this program is and can do: the text of `trimtab-httpd -V`.
 */
#ifndef TRIMTAB_HTTPD_VERSION_H
#define TRIMTAB_HTTPD_VERSION_H

#include <stdio.h>

/* The version, the architectures and the event mechanisms, one line each. */
void version_write(FILE *out);

/*
 * A document with the version and, for each architecture, its help, the knobs it understands and its modes:
 * the combinations of `events` and `sendfile` that it allows. Tests and front ends need no list of their own.
 */
void version_write_json(FILE *out);

#endif
