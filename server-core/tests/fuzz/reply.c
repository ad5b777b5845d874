/*
 * Reply heads: whatever comes, what is read lies inside the data; more data behind a head changes nothing,
 * and a head that lacks its end is never taken.
 */
#include "loadgen/reply.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

/* Says whether a field's value lies inside the head. */
static bool inside(struct reply_text text, const char *data, const struct reply_head *head)
{
    return text.length == 0 || (text.start >= data && text.start + text.length <= data + head->head_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct reply_head head = {0}, again = {0};
    const bool to_head = size > 0 && bytes[0] == '?'; /* the first byte decides what is answered */
    const size_t length = size > 0 ? size - 1 : 0;
    char *data = malloc(length + 1), *prefix;

    REQUIRE(data);
    memcpy(data, bytes + (size > 0), length);
    enum reply_parse parse = reply_parse_head(data, length, to_head, &head);
    if (parse == REPLY_PARSED) {
        REQUIRE(head.head_bytes >= strlen("HTTP/1.1 200\r\n\r\n") && head.head_bytes <= length);
        REQUIRE(head.status >= 100 && head.status <= 999);
        REQUIRE(head.body_bytes == 0 || head.body_bytes == head.content_length);
        REQUIRE(inside(head.etag, data, &head) && inside(head.last_modified, data, &head));
        REQUIRE(reply_parse_head(data, head.head_bytes, to_head, &again) == REPLY_PARSED);
        REQUIRE(again.status == head.status && again.body_bytes == head.body_bytes);
        /* In memory of its own, so that reading beyond it is found. */
        prefix = malloc(head.head_bytes - 1);
        REQUIRE(prefix);
        memcpy(prefix, data, head.head_bytes - 1);
        REQUIRE(reply_parse_head(prefix, head.head_bytes - 1, to_head, &again) == REPLY_INCOMPLETE);
        free(prefix);
    }
    free(data);
    return 0;
}
