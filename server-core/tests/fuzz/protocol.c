/*
 * The protocol: however the bytes of a client are cut into pieces, and whatever each send takes, the replies
 * are the same and the connection ends or goes on; what the parser says lies within the bytes; and a target
 * that passes never leads above the root of its host.
 */
#include "httpd/http/protocol.h"
#include "httpd/http/coding.h"
#include "httpd/http/conditions.h"
#include "httpd/http/hosts.h"
#include "httpd/http/range.h"
#include "tests/conversation.h"
#include "tests/fuzz/fuzz.h"

#include <stdbool.h>
#include <string.h>

#define SLOW_MAX 4096 /* longer inputs are not cut into single bytes */

static void look_up(const struct request *request, const char *data)
{
    struct validators validators;
    struct byte_range ranges[RANGES_MAX];
    const char *range;
    size_t length;
    unsigned count;

    validators_make(&validators, 1000, (struct timespec){.tv_sec = 784111777}, "");
    conditions_evaluate(request, data, &validators, 1700000000, &range, &length);
    if (!range)
        return;
    REQUIRE(range > data && range + length <= data + request->head_length);
    range_parse(range, length, 1000, ranges, &count);
}

static void decode(const struct request *request, const char *data)
{
    static char names[] = "h example.org";
    static struct host host = {.names = names, .fd = 7};
    const struct hosts hosts = {.all = &host, .count = 1};
    char key[HOST_KEY_MAX];
    const int key_length = hosts_key(&hosts, request, data, key);
    const char *path;
    int length, root = 0;

    if (key_length < 0)
        return;
    path = hosts_locate(&hosts, key, &root);
    length = key_length - (int)(path - key);
    REQUIRE(root == (path > key ? 7 : 0));
    REQUIRE((size_t)length == strlen(path));
    REQUIRE(path[0] != '/');
    REQUIRE(strcmp(path, "..") != 0 && strncmp(path, "../", 3) != 0 && !strstr(path, "/../"));
    REQUIRE(length < 3 || strcmp(path + length - 3, "/..") != 0);
}

/* Looks at the first request. */
static void look_into(const char *data, size_t size)
{
    struct request request = {0};

    if (!request_parse(&request, data, size))
        return;
    REQUIRE(request.parsed <= size);
    if (request.status != 0)
        return;
    REQUIRE(request.target_offset + request.target_length <= request.head_length);
    REQUIRE(request.head_length <= request.parsed);
    look_up(&request, data);
    REQUIRE(coding_choose(&request, data, 7) <= CODING_NONE);
    decode(&request, data);
}

/* Has the client say all in pieces of `piece` bytes. */
static void hear(struct conversation *conversation, const char *data, size_t size, size_t piece)
{
    for (size_t at = 0; at < size; at += piece)
        conversation_hear(conversation, data + at, size - at < piece ? size - at : piece);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *data = (const char *)bytes;
    const size_t pieces[] = {size > SLOW_MAX ? SLOW_MAX : 1, 1 + (size > 0 ? bytes[0] % 40 : 0)};
    struct conversation whole = {.step = SIZE_MAX};

    look_into(data, size);
    hear(&whole, data, size, size + 1);
    for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
        struct conversation cut = {.step = 1 + size % 50};

        hear(&cut, data, size, pieces[i]);
        REQUIRE(cut.over == whole.over && cut.length == whole.length);
        REQUIRE(whole.length == 0 || memcmp(cut.said, whole.said, whole.length) == 0);
        conversation_end(&cut);
    }
    conversation_end(&whole);
    return 0;
}
