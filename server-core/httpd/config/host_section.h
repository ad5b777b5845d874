/*
 * Sections [host NAME…] of the configuration file: what is served under other names.
 *
 *     [host example.org www.example.org]
 *     root = /srv/example
 */
#ifndef TRIMTAB_HTTPD_CONFIG_HOST_SECTION_H
#define TRIMTAB_HTTPD_CONFIG_HOST_SECTION_H

#include "httpd/http/hosts.h"

#include <stdbool.h>

/* Begins a section; its keys follow. `origin` ("FILE:7") is where it stands. Logs a mistake and returns
 * false.
 */
bool host_section_begin(struct hosts *hosts, const char *names, const char *origin);

/* Sets a key of the section begun last. Logs a mistake and returns false. */
bool host_section_set(struct hosts *hosts, const char *name, const char *text, const char *origin);

/* Says whether each host has a root; logs those that have none. */
bool host_sections_check(const struct hosts *hosts);

/* Opens the roots. Logs what is wrong and returns false. */
bool host_sections_open(struct hosts *hosts);

#endif
