/*
 * See mime.h. The table is sorted by extension, so a look-up is a binary search.
 */
#include "httpd/http/mime.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WHITE_SPACE " \t\r\n"

struct entry {
    char *extension, *type;
    size_t order; /* the first one of an extension counts */
};

struct mime_types {
    size_t count, capacity;
    struct entry *entries;
};

/* What the file need not say. */
static const struct {
    const char *extension, *type;
} OWN_TYPES[] = {
    {"html", "text/html"},        {"htm", "text/html"},
    {"css", "text/css"},          {"js", "text/javascript"},
    {"mjs", "text/javascript"},   {"txt", "text/plain"},
    {"md", "text/markdown"},      {"csv", "text/csv"},
    {"xml", "text/xml"},          {"json", "application/json"},
    {"wasm", "application/wasm"}, {"pdf", "application/pdf"},
    {"zip", "application/zip"},   {"gz", "application/gzip"},
    {"png", "image/png"},         {"jpg", "image/jpeg"},
    {"jpeg", "image/jpeg"},       {"gif", "image/gif"},
    {"webp", "image/webp"},       {"avif", "image/avif"},
    {"svg", "image/svg+xml"},     {"ico", "image/vnd.microsoft.icon"},
    {"mp3", "audio/mpeg"},        {"ogg", "audio/ogg"},
    {"wav", "audio/wav"},         {"mp4", "video/mp4"},
    {"webm", "video/webm"},       {"woff", "font/woff"},
    {"woff2", "font/woff2"},
};

/* Says whether a type may stand in a header: visible characters with a slash among them. */
static bool is_type(const char *text)
{
    if (!strchr(text, '/'))
        return false;
    for (; *text; text++) {
        if (!isgraph((unsigned char)*text) || *text == ';')
            return false;
    }
    return true;
}

static bool is_text(const char *type)
{
    return strncmp(type, "text/", strlen("text/")) == 0 || strcmp(type, "application/javascript") == 0;
}

/* Adds an entry. Returns false when there is no memory. */
static bool add(struct mime_types *types, const char *extension, const char *type, const char *charset)
{
    char text[MIME_TYPE_MAX];
    const bool has_charset = charset && is_text(type);
    struct entry *entry;

    if (snprintf(text, sizeof(text), "%s%s%s", type, has_charset ? "; charset=" : "",
                 has_charset ? charset : "") >= (int)sizeof(text))
        return true;
    if (types->count == types->capacity) {
        const size_t capacity = types->capacity ? types->capacity * 2 : 256;
        struct entry *grown = realloc(types->entries, capacity * sizeof(*grown));

        if (!grown)
            return false;
        types->entries = grown;
        types->capacity = capacity;
    }
    entry = &types->entries[types->count];
    *entry = (struct entry){.extension = strdup(extension), .type = strdup(text), .order = types->count};
    types->count++;
    return entry->extension && entry->type;
}

/* Adds what a line of the file says. */
static bool add_line(struct mime_types *types, char *line, const char *charset)
{
    char *rest = line;
    const char *type, *extension;

    line[strcspn(line, "#")] = '\0';
    type = strtok_r(line, WHITE_SPACE, &rest);
    if (!type || !is_type(type))
        return true;
    while ((extension = strtok_r(NULL, WHITE_SPACE, &rest)) != NULL) {
        if (!add(types, extension, type, charset))
            return false;
    }
    return true;
}

static bool add_file(struct mime_types *types, FILE *file, const char *charset)
{
    char *line = NULL;
    size_t size = 0;
    bool ok = true;

    while (ok && getline(&line, &size, file) >= 0)
        ok = add_line(types, line, charset);
    free(line);
    return ok && !ferror(file);
}

static int compare_extensions(const void *one, const void *other)
{
    return strcasecmp(((const struct entry *)one)->extension, ((const struct entry *)other)->extension);
}

static int compare(const void *one, const void *other)
{
    const size_t order = ((const struct entry *)one)->order;
    const size_t other_order = ((const struct entry *)other)->order;
    const int difference = compare_extensions(one, other);

    return difference ? difference : (order > other_order) - (order < other_order);
}

static void release(struct entry *entry)
{
    free(entry->extension);
    free(entry->type);
}

/* Sorts the entries and keeps the first one of each extension. */
static void put_in_order(struct mime_types *types)
{
    size_t kept = 0;

    qsort(types->entries, types->count, sizeof(*types->entries), compare);
    for (size_t i = 0; i < types->count; i++) {
        if (kept > 0 && compare_extensions(&types->entries[kept - 1], &types->entries[i]) == 0)
            release(&types->entries[i]);
        else
            types->entries[kept++] = types->entries[i];
    }
    types->count = kept;
}

struct mime_types *mime_types_create(FILE *file, const char *charset)
{
    struct mime_types *types = calloc(1, sizeof(*types));
    bool ok = types && (!file || add_file(types, file, charset));

    for (size_t i = 0; ok && i < sizeof(OWN_TYPES) / sizeof(*OWN_TYPES); i++)
        ok = add(types, OWN_TYPES[i].extension, OWN_TYPES[i].type, charset);
    if (!ok) {
        const int error = errno;

        if (types)
            mime_types_destroy(types);
        errno = error;
        return NULL;
    }
    put_in_order(types);
    return types;
}

void mime_types_destroy(struct mime_types *types)
{
    for (size_t i = 0; i < types->count; i++)
        release(&types->entries[i]);
    free(types->entries);
    free(types);
}

const char *mime_type(const struct mime_types *types, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dot = strrchr(slash ? slash : path, '.');
    const struct entry wanted = {.extension = dot ? dot + 1 : NULL};
    const struct entry *found =
        dot ? bsearch(&wanted, types->entries, types->count, sizeof(*types->entries), compare_extensions)
            : NULL;

    return found ? found->type : "application/octet-stream";
}
