/*
 * See mime.h. The names are those of the IANA registry of media types.
 */
#include "httpd/http/mime.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *extension;
    const char *type;
} TYPES[] = {
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

const char *mime_type(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');

    for (size_t i = 0; dot && i < sizeof(TYPES) / sizeof(*TYPES); i++) {
        if (strcasecmp(dot + 1, TYPES[i].extension) == 0)
            return TYPES[i].type;
    }
    return "application/octet-stream";
}
