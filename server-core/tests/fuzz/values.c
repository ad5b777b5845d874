/*
 * Values of headers: ranges lie within the file, apart from each other and never exceed it; a date that is
 * read is written again as the same second.
 */
#include "httpd/http/date.h"
#include "httpd/http/range.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void try_range(const char *value, size_t length, uint64_t size)
{
    struct multipart multipart = {.size = size, .type = "text/plain"};
    uint64_t total = 0;

    if (range_parse(value, length, size, multipart.ranges, &multipart.count) != RANGE_PARTS)
        return;
    REQUIRE(multipart.count >= 1 && multipart.count <= RANGES_MAX);
    for (unsigned i = 0; i < multipart.count; i++) {
        REQUIRE(multipart.ranges[i].first < multipart.ranges[i].end && multipart.ranges[i].end <= size);
        total += multipart.ranges[i].end - multipart.ranges[i].first;
    }
    REQUIRE(total <= size);
    multipart_begin(&multipart);
    REQUIRE(multipart_length(&multipart) > total);
}

static void try_date(const char *value, size_t length)
{
    struct http_date date = {0};
    time_t second, again;

    if (!http_date_parse(value, length, 1700000000, &second))
        return;
    http_date_update(&date, second);
    if (strlen(date.text) == HTTP_DATE_LENGTH) {
        REQUIRE(http_date_parse(date.text, HTTP_DATE_LENGTH, 1700000000, &again));
        REQUIRE(second == again);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *value = (const char *)bytes;

    try_range(value, size, 1000);
    try_range(value, size, 1);
    try_range(value, size, UINT64_MAX / 2);
    try_date(value, size);
    return 0;
}
