/*
 * See host_section.h.
 */
#include "httpd/config/host_section.h"

#include "httpd/log.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define NAME_SIGNS "abcdefghijklmnopqrstuvwxyz0123456789.-_"

/* Writes the names in small letters with one space between them. Returns false if one is no name, or is
 * another host's. */
static bool take_names(const struct hosts *hosts, const char *from, char *names, const char *origin)
{
    char *to = names;

    for (from += strspn(from, " \t"); *from; from += strspn(from, " \t")) {
        const size_t length = strcspn(from, " \t");

        if (to > names)
            *to++ = ' ';
        for (size_t i = 0; i < length; i++)
            to[i] = (char)tolower((unsigned char)from[i]);
        to[length] = '\0';
        if (strspn(to, NAME_SIGNS) != length || to[length - 1] == '.') {
            log_error("%s: [host %.100s]: expected names such as www.example.org", origin, to);
            return false;
        }
        if (hosts_find(hosts, to, length) > 0) {
            log_error("%s: [host %.100s]: given already", origin, to);
            return false;
        }
        to += length;
        from += length;
    }
    if (to == names)
        log_error("%s: [host]: expected names such as www.example.org", origin);
    return to > names;
}

bool host_section_begin(struct hosts *hosts, const char *names, const char *origin)
{
    struct host *grown;
    char *taken = malloc(strlen(names) + 1);

    if (hosts->count == HOSTS_MAX) {
        log_error("%s: [host %.100s]: expected at most %d hosts", origin, names, HOSTS_MAX);
        free(taken);
        return false;
    }
    if (!taken || !take_names(hosts, names, taken, origin) ||
        !(grown = realloc(hosts->all, (hosts->count + 1) * sizeof(*grown)))) {
        free(taken);
        return false;
    }
    hosts->all = grown;
    grown[hosts->count++] = (struct host){.names = taken, .origin = strdup(origin), .fd = -1};
    return true;
}

bool host_section_set(struct hosts *hosts, const char *name, const char *text, const char *origin)
{
    struct host *host = &hosts->all[hosts->count - 1];

    if (strcmp(name, "root") != 0) {
        log_error("%s: unknown key %.100s in a section [host]: expected root", origin, name);
        return false;
    }
    if (host->root || *text == '\0') {
        log_error("%s: root = %.100s: expected, once, a path", origin, text);
        return false;
    }
    host->root = strdup(text);
    return host->root != NULL;
}

bool host_sections_check(const struct hosts *hosts)
{
    bool ok = true;

    for (size_t i = 0; i < hosts->count; i++) {
        if (hosts->all[i].root)
            continue;
        log_error("%s: [host %.100s]: root is not set", hosts->all[i].origin, hosts->all[i].names);
        ok = false;
    }
    return ok;
}

bool host_sections_open(struct hosts *hosts)
{
    bool ok = true;

    for (size_t i = 0; i < hosts->count; i++) {
        struct host *host = &hosts->all[i];

        host->fd = open(host->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (host->fd >= 0)
            continue;
        log_errno("%s: [host %.100s]: root = %s", host->origin, host->names, host->root);
        ok = false;
    }
    return ok;
}
