/*
 * See range.h.
 */
#include "httpd/http/range.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <time.h>

/* Takes digits at *text. Returns false when there are none; a number too large to matter becomes the
 * largest. */
static bool take_number(const char **text, const char *end, uint64_t *number)
{
    const char *start = *text;

    *number = 0;
    for (; *text < end && **text >= '0' && **text <= '9'; ++*text) {
        const uint64_t digit = (uint64_t)(**text - '0');

        *number = *number > (UINT64_MAX - digit) / 10 ? UINT64_MAX : *number * 10 + digit;
    }
    return *text > start;
}

static void skip_space(const char **text, const char *end)
{
    while (*text < end && (**text == ' ' || **text == '\t'))
        ++*text;
}

/* Takes one of first-last, first- and -suffix. Returns false when it is none; *satisfiable says whether it
 * has any byte of `size`. */
static bool take_range(const char **text, const char *end, uint64_t size, struct byte_range *range,
                       bool *satisfiable)
{
    uint64_t first, last;
    const bool has_first = take_number(text, end, &first);
    bool has_last;

    if (*text == end || **text != '-')
        return false;
    ++*text;
    has_last = take_number(text, end, &last);
    if (has_first) {
        if (has_last && last < first)
            return false;
        *range = (struct byte_range){first, has_last && last < size ? last + 1 : size};
        *satisfiable = first < size;
        return true;
    }
    *range = (struct byte_range){last < size ? size - last : 0, size};
    *satisfiable = last > 0;
    return has_last;
}

static bool any_touch(const struct byte_range *ranges, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        for (unsigned j = 0; j < i; j++) {
            if (ranges[i].first <= ranges[j].end && ranges[j].first <= ranges[i].end)
                return true;
        }
    }
    return false;
}

/* Sorts the ranges and joins those that touch. Returns how many are left. */
static unsigned coalesce(struct byte_range *ranges, unsigned count)
{
    unsigned kept = 0;

    for (unsigned i = 1; i < count; i++) {
        const struct byte_range range = ranges[i];
        unsigned place = i;

        for (; place > 0 && ranges[place - 1].first > range.first; place--)
            ranges[place] = ranges[place - 1];
        ranges[place] = range;
    }
    for (unsigned i = 1; i < count; i++) {
        if (ranges[i].first > ranges[kept].end)
            ranges[++kept] = ranges[i];
        else if (ranges[i].end > ranges[kept].end)
            ranges[kept].end = ranges[i].end;
    }
    return kept + 1;
}

enum range_outcome range_parse(const char *value, size_t length, uint64_t size,
                               struct byte_range ranges[RANGES_MAX], unsigned *count)
{
    static const char unit[] = "bytes=";
    const size_t unit_length = sizeof(unit) - 1;
    const char *text = value + unit_length;
    const char *end = value + length;
    unsigned asked = 0;

    *count = 0;
    if (size == 0 || length < unit_length || strncasecmp(value, unit, unit_length) != 0)
        return RANGE_WHOLE;
    while (text < end) {
        struct byte_range range;
        bool satisfiable;

        skip_space(&text, end);
        if (text < end && *text != ',') { /* a list may have empty elements (§5.6.1) */
            if (++asked > RANGES_MAX || !take_range(&text, end, size, &range, &satisfiable))
                return RANGE_WHOLE;
            if (satisfiable)
                ranges[(*count)++] = range;
            skip_space(&text, end);
        }
        if (text < end && *text++ != ',')
            return RANGE_WHOLE;
    }
    if (asked == 0)
        return RANGE_WHOLE;
    if (*count == 0)
        return RANGE_UNSATISFIABLE;
    if (any_touch(ranges, *count))
        *count = coalesce(ranges, *count);
    return RANGE_PARTS;
}

void multipart_begin(struct multipart *multipart)
{
    uint64_t random[2];

    if (getrandom(random, sizeof(random), GRND_NONBLOCK) != sizeof(random)) {
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        random[0] = (uint64_t)now.tv_nsec * UINT64_C(0x9E3779B97F4A7C15);
        random[1] = (uint64_t)now.tv_sec ^ (uintptr_t)multipart;
    }
    snprintf(multipart->boundary, sizeof(multipart->boundary), "%016" PRIx64 "%08" PRIx32, random[0],
             (uint32_t)random[1]);
    multipart->next = 0;
}

size_t multipart_text(const struct multipart *multipart, unsigned index, char text[MULTIPART_TEXT_MAX])
{
    const struct byte_range *range = &multipart->ranges[index];
    const char *start = index > 0 ? "\r\n" : "";

    if (index == multipart->count)
        return (size_t)snprintf(text, MULTIPART_TEXT_MAX, "%s--%s--\r\n", start, multipart->boundary);
    return (size_t)snprintf(
        text, MULTIPART_TEXT_MAX,
        "%s--%s\r\nContent-Type: %s\r\nContent-Range: bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64 "\r\n\r\n",
        start, multipart->boundary, multipart->type, range->first, range->end - 1, multipart->size);
}

uint64_t multipart_length(const struct multipart *multipart)
{
    char text[MULTIPART_TEXT_MAX];
    uint64_t length = 0;

    for (unsigned i = 0; i < multipart->count; i++)
        length += multipart_text(multipart, i, text) + multipart->ranges[i].end - multipart->ranges[i].first;
    return length + multipart_text(multipart, multipart->count, text);
}
