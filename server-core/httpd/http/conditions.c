/*
 * See conditions.h. Section numbers are those of RFC 9110.
 */
#include "httpd/http/conditions.h"

#include "httpd/http/date.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum answer { ABSENT, FALSE, TRUE };

void validators_make(struct validators *validators, uint64_t size, struct timespec modified,
                     const char *coding)
{
    snprintf(validators->etag, sizeof(validators->etag), "\"%" PRIx64 "-%" PRIx64 "%s%s\"", size,
             (uint64_t)modified.tv_sec * 1000000000 + (uint64_t)modified.tv_nsec, *coding ? "-" : "", coding);
    validators->modified = modified.tv_sec;
}

/*
 * Says whether a list of entity tags (§13.1.1) has ours. `weak`: W/"x" is as good as "x" (§8.8.3.2); ours is
 * strong. What is no list of tags has none.
 */
static bool lists_tag(const char *value, size_t length, const char *etag, bool weak)
{
    const char *end = value + length;
    const size_t etag_length = strlen(etag);

    if (length == 1 && *value == '*')
        return true;
    while (value < end) {
        bool is_weak = false;
        const char *quote;

        while (value < end && (*value == ' ' || *value == '\t' || *value == ','))
            value++;
        if (end - value > 2 && memcmp(value, "W/", 2) == 0) {
            is_weak = true;
            value += 2;
        }
        if (value == end || *value != '"')
            return false;
        quote = memchr(value + 1, '"', (size_t)(end - value - 1));
        if (!quote)
            return false;
        quote++;
        if ((size_t)(quote - value) == etag_length && memcmp(value, etag, etag_length) == 0 &&
            (weak || !is_weak))
            return true;
        value = quote;
    }
    return false;
}

/* Asks all lines of a list header, which count as one (§5.3). */
static enum answer any_lists_tag(const struct request *request, const char *data, const char *name,
                                 const char *etag, bool weak)
{
    struct header header = {0};
    enum answer answer = ABSENT;

    while (answer != TRUE && request_find_header(request, data, name, &header))
        answer = lists_tag(header.value, header.value_length, etag, weak) ? TRUE : FALSE;
    return answer;
}

/* Says whether the file has been changed after the date of a header. A header that stands twice, or is no
 * date, is as if it were absent (§13.1.3, §13.1.4). */
static enum answer modified_since(const struct request *request, const char *data, const char *name,
                                  const struct validators *validators, time_t now)
{
    struct header header = {0};
    struct header second;
    time_t date;

    if (!request_find_header(request, data, name, &header))
        return ABSENT;
    second = header;
    if (request_find_header(request, data, name, &second) ||
        !http_date_parse(header.value, header.value_length, now, &date))
        return ABSENT;
    return validators->modified > date ? TRUE : FALSE;
}

/* §13.1.5: the range counts if the sender's version is ours for certain; a date only if the file is older
 * than the clock can tell apart. */
static bool range_counts(const struct request *request, const char *data, const struct validators *validators,
                         time_t now)
{
    struct header header = {0};
    time_t date;

    if (!request_find_header(request, data, "If-Range", &header))
        return true;
    if (http_date_parse(header.value, header.value_length, now, &date))
        return date == validators->modified && date < now - 1;
    return header.value_length > 1 && lists_tag(header.value, header.value_length, validators->etag, false);
}

enum http_status conditions_evaluate(const struct request *request, const char *data,
                                     const struct validators *validators, time_t now, const char **range,
                                     size_t *range_length)
{
    struct header header = {0};
    enum answer answer;

    *range = NULL;
    if (!request->conditional)
        return HTTP_OK;
    answer = any_lists_tag(request, data, "If-Match", validators->etag, false);
    if (answer == FALSE ||
        (answer == ABSENT && modified_since(request, data, "If-Unmodified-Since", validators, now) == TRUE))
        return HTTP_PRECONDITION_FAILED;
    answer = any_lists_tag(request, data, "If-None-Match", validators->etag, true);
    if (answer == TRUE ||
        (answer == ABSENT && modified_since(request, data, "If-Modified-Since", validators, now) == FALSE))
        return HTTP_NOT_MODIFIED;
    if (request->method == METHOD_GET && request_find_header(request, data, "Range", &header) &&
        range_counts(request, data, validators, now)) {
        *range = header.value;
        *range_length = header.value_length;
        if (request_find_header(request, data, "Range", &header)) /* twice: which one is meant? */
            *range = NULL;
    }
    return HTTP_OK;
}
