/*
 * See path.h.
 */
#include "httpd/http/path.h"

#include "common/hex.h"
#include "httpd/http/status.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Returns the place in `path` where the segment before the one that begins at `segment` begins. */
static size_t previous_segment(const char *path, size_t segment)
{
    if (segment > 0)
        segment--;
    while (segment > 0 && path[segment - 1] != '/')
        segment--;
    return segment;
}

/*
 * Resolves the segment path[segment…end) if it is a dot segment. Returns where the path now ends; then it is
 * a directory.
 */
static size_t resolve_dots(const char *path, size_t segment, size_t end)
{
    if (end - segment == 1 && path[segment] == '.')
        return segment;
    if (end - segment == 2 && path[segment] == '.' && path[segment + 1] == '.')
        return previous_segment(path, segment);
    return end;
}

int path_decode(const char *target, size_t length, char path[PATH_BYTES_MAX])
{
    size_t end = 0;     /* of what has been written */
    size_t segment = 0; /* where the last segment begins */

    for (size_t i = 0; i < length && target[i] != '?'; i++) {
        char c = target[i];

        if (c == '%') {
            const int high = i + 2 < length ? hex_value(target[i + 1]) : -1;
            const int low = i + 2 < length ? hex_value(target[i + 2]) : -1;

            if (high < 0 || low < 0 || (high == 0 && low == 0))
                return -HTTP_BAD_REQUEST;
            c = (char)(high << 4 | low);
            i += 2;
        }
        if (c == '/') {
            const size_t resolved = resolve_dots(path, segment, end);

            if (resolved == end && end > segment)
                path[end++] = '/';
            else
                end = resolved;
            segment = end;
        } else {
            path[end++] = c;
        }
        if (end == PATH_BYTES_MAX)
            return -HTTP_URI_TOO_LONG;
    }
    end = resolve_dots(path, segment, end);
    path[end] = '\0';
    return (int)end;
}

bool path_encode(const char *path, char *uri, size_t size)
{
    size_t length = 0;

    if (size < 2)
        return false;
    uri[length++] = '/';
    for (; *path; path++) {
        if (length + 4 > size)
            return false;
        if (isalnum((unsigned char)*path) || strchr("-._~!$&'()*+,;=:@/", *path))
            uri[length++] = *path;
        else
            length += (size_t)snprintf(uri + length, size - length, "%%%02X", (unsigned char)*path);
    }
    uri[length] = '\0';
    return true;
}
