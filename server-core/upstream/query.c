/*
 * See query.h.
 */
#include "query.h"

#include <string.h>

static const char PATH[] = "/dynamic/drawn?size=";
static const char SERVICE[] = "&us=";
static const char STATUS[] = "/status";

/* Takes `prefix` from the beginning of the text. Returns false, and takes nothing, if it does not stand
 * there. */
static bool skip(const char **text, const char *end, const char *prefix)
{
    size_t length = strlen(prefix);

    if ((size_t)(end - *text) < length || memcmp(*text, prefix, length) != 0)
        return false;
    *text += length;
    return true;
}

/* Takes a number of at most `most` from the beginning of the text. Returns false if there is none. */
static bool number(const char **text, const char *end, uint64_t most, uint64_t *value)
{
    const char *begin = *text;

    for (*value = 0; *text < end && **text >= '0' && **text <= '9'; (*text)++) {
        *value = 10 * *value + (uint64_t)(**text - '0');
        if (*value > most)
            return false;
    }
    return *text > begin;
}

bool query_parse(const char *target, size_t length, struct query *query)
{
    const char *end = target + length;

    *query = (struct query){0};
    if (!skip(&target, end, PATH) || !number(&target, end, QUERY_SIZE_MAX, &query->size_bytes))
        return false;
    if (target == end)
        return true;
    return skip(&target, end, SERVICE) && number(&target, end, QUERY_SERVICE_US_MAX, &query->service_us) &&
           target == end;
}

bool query_is_status(const char *target, size_t length)
{
    return length == strlen(STATUS) && memcmp(target, STATUS, length) == 0;
}
