/*
 * Reads the configuration file: INI with the section [server] and further ones [host NAME…]
 * (config/host_section.h) and [path PREFIX] (config/path_section.h), of lines `key = value` or `key: value`.
 * White space round a line, a key and a value does not count. A line that begins with ; or # is a comment,
 * and so is what follows a ; with white space before it. A line is as long as it likes.
 */
#include "httpd/config/config.h"
#include "httpd/config/host_section.h"
#include "httpd/config/path_section.h"
#include "httpd/log.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECTION         "[server]"
#define HOST_SECTION    "[host "
#define PATH_SECTION    "[path "
#define ORIGIN_MAX      4096
#define BYTE_ORDER_MARK "\xEF\xBB\xBF"

struct reading {
    struct config *config;
    const char *path;
    unsigned line_number;
    size_t host; /* whose sections [path] follow; 0: the server's own root */
    enum { NO_SECTION, SERVER_SECTION, HOSTS_SECTION, PATHS_SECTION } section;
    unsigned lines_seen[KNOB_COUNT]; /* where a key stood, 0 = not yet */
    bool ok;
};

static void complain(struct reading *reading, const char *what, const char *sentence)
{
    log_error("%s:%u: %.80s: %s", reading->path, reading->line_number, what, sentence);
    reading->ok = false;
}

/* Returns the text without the white space at its ends; what stood at its end is overwritten. */
static char *strip(char *text)
{
    size_t length;

    while (isspace((unsigned char)*text))
        text++;
    length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    return text;
}

/* Cuts off a comment behind white space. */
static void cut_comment(char *text)
{
    for (char *at = text; (at = strchr(at, ';')) != NULL; at++) {
        if (at > text && isspace((unsigned char)at[-1])) {
            *at = '\0';
            return;
        }
    }
}

static void write_origin(const struct reading *reading, char origin[ORIGIN_MAX])
{
    snprintf(origin, ORIGIN_MAX, "%s:%u", reading->path, reading->line_number);
}

/* Says whether a line is "[kind …]"; then *said is what stands behind the kind. */
static bool is_section(char *text, const char *kind, char **said)
{
    const size_t length = strlen(text);

    if (strncmp(text, kind, strlen(kind)) != 0 || text[length - 1] != ']')
        return false;
    text[length - 1] = '\0';
    *said = strip(text + strlen(kind));
    return true;
}

/* Begins the section that a line "[…]" names. */
static void take_section(struct reading *reading, char *text)
{
    struct config *config = reading->config;
    char origin[ORIGIN_MAX];
    char *said;

    write_origin(reading, origin);
    reading->section = NO_SECTION;
    if (strcmp(text, SECTION) == 0) {
        reading->section = SERVER_SECTION;
        reading->host = 0;
    } else if (is_section(text, HOST_SECTION, &said)) {
        if (host_section_begin(&config->hosts, said, origin))
            reading->section = HOSTS_SECTION;
        reading->host = config->hosts.count;
    } else if (is_section(text, PATH_SECTION, &said)) {
        if (path_section_begin(&config->presentation, reading->host, said, origin))
            reading->section = PATHS_SECTION;
    } else {
        complain(reading, text,
                 "expected a section " SECTION ", " HOST_SECTION "NAME…] or " PATH_SECTION "PREFIX]");
    }
    reading->ok = reading->ok && reading->section != NO_SECTION;
}

static void take_pair(struct reading *reading, const char *name, const char *value)
{
    const enum knob_id id = knob_find(name);
    char origin[ORIGIN_MAX];
    char sentence[64];

    write_origin(reading, origin);
    if (reading->section == NO_SECTION) {
        complain(reading, name, "expected in section " SECTION);
        return;
    }
    if (reading->section == HOSTS_SECTION) {
        reading->ok = host_section_set(&reading->config->hosts, name, value, origin) && reading->ok;
        return;
    }
    if (reading->section == PATHS_SECTION) {
        reading->ok = path_section_set(&reading->config->presentation, name, value, origin) && reading->ok;
        return;
    }
    if (id < KNOB_COUNT && reading->lines_seen[id]) {
        snprintf(sentence, sizeof(sentence), "given already in line %u", reading->lines_seen[id]);
        complain(reading, name, sentence);
        return;
    }
    if (id < KNOB_COUNT)
        reading->lines_seen[id] = reading->line_number;
    reading->ok = config_set(reading->config, name, value, origin) && reading->ok;
}

static void take_line(struct reading *reading, char *line)
{
    char *text = strip(line);
    char *joint;

    if (*text == ';' || *text == '#')
        return;
    cut_comment(text);
    text = strip(text);
    if (*text == '\0')
        return;
    if (*text == '[') {
        take_section(reading, text);
        return;
    }
    joint = strpbrk(text, "=:");
    if (!joint) {
        complain(reading, text, "expected key = value");
        return;
    }
    *joint = '\0';
    take_pair(reading, strip(text), strip(joint + 1));
}

/* Reads the lines of a file. */
static void read_lines(struct reading *reading, FILE *file)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t length;

    while ((length = getline(&line, &size, file)) >= 0) {
        const bool marked = reading->line_number == 0 && strncmp(line, BYTE_ORDER_MARK, 3) == 0;

        reading->line_number++;
        if (strlen(line) < (size_t)length)
            complain(reading, line, "expected text, there is a byte 0 in this line");
        else
            take_line(reading, line + (marked ? strlen(BYTE_ORDER_MARK) : 0));
    }
    if (ferror(file) || !feof(file)) {
        log_error("%s: cannot be read: %s", reading->path, strerror(errno));
        reading->ok = false;
    }
    free(line);
}

bool config_read_file(struct config *config, const char *path)
{
    struct reading reading = {.config = config, .path = path, .ok = true};
    FILE *file = fopen(path, "re");

    if (!file) {
        log_error("%s: cannot be read: %s", path, strerror(errno));
        return false;
    }
    read_lines(&reading, file);
    fclose(file);
    return reading.ok;
}
