/*
 * Reads the configuration file with libinih.
 *
 * DESIGN. libinih as Debian builds it gives its handler no line numbers and reads into a buffer of 200 bytes
 * that cannot be changed. Both are mended by the reader function it lets us supply: the reader counts the
 * lines, and feeds a longer line in pieces, each but the first beginning with a space. To libinih such a
 * piece is a continuation line, for which it calls the handler again with the same name; the handler then
 * appends. White space that the user put before a key is taken away, so that indenting never makes a
 * continuation.
 */
#include "httpd/config.h"
#include "httpd/log.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

#define SECTION "server"

struct reading {
    struct config *config;
    const char *path;
    FILE *file;
    char *line; /* the line being fed, from getline(3) */
    size_t line_size;
    char *rest; /* what is still to be fed of it; NULL: read the next line */
    bool continues;
    unsigned line_number;
    unsigned lines_seen[KNOB_COUNT]; /* where a key stood, 0 = not yet */
    char *name, *value;              /* the pair being put together */
    unsigned pair_line;
    bool ok;
};

static void complain(struct reading *reading, unsigned line_number, const char *what, const char *sentence)
{
    log_line("%s:%u: %s: %s", reading->path, line_number, what, sentence);
    reading->ok = false;
}

/* Hands the pair that is complete to the configuration. */
static void finish_pair(struct reading *reading)
{
    char origin[4096];
    char sentence[64];
    enum knob_id id;

    if (!reading->name)
        return;
    id = knob_find(reading->name);
    if (id < KNOB_COUNT && reading->lines_seen[id]) {
        snprintf(sentence, sizeof(sentence), "given already in line %u", reading->lines_seen[id]);
        complain(reading, reading->pair_line, reading->name, sentence);
    } else {
        if (id < KNOB_COUNT)
            reading->lines_seen[id] = reading->pair_line;
        snprintf(origin, sizeof(origin), "%s:%u", reading->path, reading->pair_line);
        if (!config_set(reading->config, reading->name, reading->value, origin))
            reading->ok = false;
    }
    free(reading->name);
    free(reading->value);
    reading->name = reading->value = NULL;
}

/* libinih's handler: one pair, or a further piece of the value of the last one. */
static int take_pair(void *user, const char *section, const char *name, const char *value)
{
    struct reading *reading = user;

    if (reading->continues && reading->name) {
        char *joined = NULL;

        if (asprintf(&joined, "%s%s", reading->value, value) < 0)
            return 0;
        free(reading->value);
        reading->value = joined;
        return 1;
    }
    finish_pair(reading);
    if (strcmp(section, SECTION) != 0) {
        complain(reading, reading->line_number, name, "expected in section [" SECTION "]");
        return 1;
    }
    reading->pair_line = reading->line_number;
    reading->name = strdup(name);
    reading->value = strdup(value);
    return reading->name && reading->value;
}

/* What libinih would refuse, said in our words: the line is neither empty, comment, section nor pair. */
static void check_line(struct reading *reading)
{
    const char *line = reading->line + strspn(reading->line, " \t\r\n");
    char quoted[80];

    if (*line == '\0' || *line == ';' || *line == '#')
        return;
    snprintf(quoted, sizeof(quoted), "%.*s", (int)strcspn(line, "\r\n"), line);
    if (*line == '[' && strncmp(line, "[" SECTION "]", strlen("[" SECTION "]")) != 0)
        complain(reading, reading->line_number, quoted, "expected the section [" SECTION "]");
    else if (*line != '[' && line[strcspn(line, "=:")] == '\0')
        complain(reading, reading->line_number, quoted, "expected key = value");
}

/* libinih's reader, with the manners of fgets(3). */
static char *feed(char *buffer, int size, void *stream)
{
    struct reading *reading = stream;
    size_t length, room;

    reading->continues = reading->rest != NULL;
    if (!reading->rest) {
        if (getline(&reading->line, &reading->line_size, reading->file) < 0)
            return NULL;
        reading->line_number++;
        check_line(reading);
        reading->rest = reading->line + strspn(reading->line, " \t");
    }

    room = (size_t)size - 3; /* a space before, a line feed and the NUL behind */
    length = strlen(reading->rest);
    if (length > room) {
        /* Cut where no white space stands on either side: libinih would strip it. */
        for (length = room; length > 1; length--) {
            if (!isspace((unsigned char)reading->rest[length - 1]) &&
                !isspace((unsigned char)reading->rest[length]))
                break;
        }
    }
    snprintf(buffer, (size_t)size, "%s%.*s\n", reading->continues ? " " : "", (int)length, reading->rest);
    reading->rest = reading->rest[length] == '\0' ? NULL : reading->rest + length;
    return buffer;
}

bool config_read_file(struct config *config, const char *path)
{
    struct reading reading = {.config = config, .path = path, .ok = true};
    int result;

    reading.file = fopen(path, "re");
    if (!reading.file) {
        log_line("%s: cannot be read: %s", path, strerror(errno));
        return false;
    }
    result = ini_parse_stream(feed, &reading, take_pair, &reading);
    finish_pair(&reading);
    if (result != 0 && reading.ok) { /* check_line() has not seen why */
        log_line("%s: %s", path,
                 result > 0 ? "not everything in it is understood" : "there is no memory to read it");
        reading.ok = false;
    }
    if (ferror(reading.file)) {
        log_line("%s: cannot be read: it is no text file or the disk fails", path);
        reading.ok = false;
    }
    fclose(reading.file);
    free(reading.line);
    return reading.ok;
}
