/*
 * Requests: however the bytes are cut into pieces, and whether those of a body are kept or not, the parser
 * says the same; what it says lies within the bytes; and a target that passes never leads above the root.
 */
#include "httpd/http/request.h"
#include "httpd/http/conditions.h"
#include "httpd/http/path.h"
#include "httpd/http/range.h"
#include "tests/fuzz/fuzz.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void look_up(const struct request *request, const char *data)
{
    struct validators validators;
    struct byte_range ranges[RANGES_MAX];
    const char *range;
    size_t length;
    unsigned count;

    validators_make(&validators, 1000, (struct timespec){.tv_sec = 784111777});
    conditions_evaluate(request, data, &validators, 1700000000, &range, &length);
    if (!range)
        return;
    REQUIRE(range > data && range + length <= data + request->head_length);
    range_parse(range, length, 1000, ranges, &count);
}

static void decode(const struct request *request, const char *data)
{
    char path[PATH_BYTES_MAX];
    const int length = path_decode(data + request->target_offset, request->target_length, path);

    if (length < 0)
        return;
    REQUIRE((size_t)length == strlen(path));
    REQUIRE(path[0] != '/');
    REQUIRE(strcmp(path, "..") != 0 && strncmp(path, "../", 3) != 0 && !strstr(path, "/../"));
    REQUIRE(length < 3 || strcmp(path + length - 3, "/..") != 0);
}

/* Parses byte by byte, and forgets what need not be kept. Returns whether the request is complete. */
static bool parse_forgetting(struct request *request, const char *data, size_t size)
{
    char *kept = malloc(size + 1);
    size_t length = 0;
    bool complete = false;

    REQUIRE(kept);
    for (size_t i = 0; i < size && !complete; i++) {
        kept[length++] = data[i];
        complete = request_parse(request, kept, length);
        REQUIRE(request->parsed <= length);
        if (!complete)
            length = request_keep(request, length);
    }
    free(kept);
    return complete;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *data = (const char *)bytes;
    struct request whole = {0}, pieces = {0}, forgetting = {0};
    const bool complete = request_parse(&whole, data, size);
    bool piecewise = false;

    for (size_t length = 1; length <= size && !piecewise; length++)
        piecewise = request_parse(&pieces, data, length);
    REQUIRE(complete == piecewise);
    REQUIRE(complete == parse_forgetting(&forgetting, data, size));
    if (!complete)
        return 0;
    REQUIRE(whole.status == pieces.status && whole.keep_alive == pieces.keep_alive);
    REQUIRE(whole.status == forgetting.status && whole.keep_alive == forgetting.keep_alive);
    REQUIRE(whole.parsed <= size);
    if (whole.status != 0)
        return 0;
    REQUIRE(whole.parsed == pieces.parsed && whole.target_offset == pieces.target_offset);
    REQUIRE(whole.target_offset == forgetting.target_offset && whole.head_length == forgetting.head_length);
    REQUIRE(whole.target_offset + whole.target_length <= whole.head_length);
    REQUIRE(whole.head_length <= whole.parsed);
    look_up(&whole, data);
    decode(&whole, data);
    return 0;
}
