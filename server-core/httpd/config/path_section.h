/*
 * Sections [path PREFIX] of the configuration file: what is said beside the files below a path.
 *
 *     [path /assets/]
 *     header = Access-Control-Allow-Origin: *
 *     expires_s = 86400
 */
#ifndef TRIMTAB_HTTPD_CONFIG_PATH_SECTION_H
#define TRIMTAB_HTTPD_CONFIG_PATH_SECTION_H

#include "httpd/http/presentation.h"

#include <stdbool.h>
#include <stdio.h>

/* Begins a section of host `host` (0: the server's own root); its keys follow. `origin` ("FILE:7") is where
 * it stands. Logs a mistake and returns false. */
bool path_section_begin(struct presentation *presentation, size_t host, const char *prefix,
                        const char *origin);

/* Sets a key of the section begun last. Logs a mistake and returns false. */
bool path_section_set(struct presentation *presentation, const char *name, const char *text,
                      const char *origin);

/* Writes the sections of a host as they would stand in a file. */
void path_sections_print(const struct presentation *presentation, size_t host, FILE *out);

#endif
