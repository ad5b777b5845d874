/*
 * Replies: whatever comes, what is read lies inside the data; more data behind a head changes nothing, a head
 * that lacks its end is never taken, and in what pieces a body comes changes neither its end nor its length.
 */
#include "loadgen/reply_body.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

/* Says whether a field's value lies inside the head. */
static bool inside(struct reply_text text, const char *data, const struct reply_head *head)
{
    return text.length == 0 || (text.start >= data && text.start + text.length <= data + head->head_bytes);
}

/* Takes the body in pieces of `piece` bytes, each in memory of its own, until it goes on no longer. */
static enum reply_body take(struct connection *c, const char *data, size_t length, size_t piece)
{
    static struct connections all;
    enum reply_body result = reply_body_take(&all, c, data, 0);

    for (size_t taken = 0; taken < length; taken += piece) {
        const size_t part = piece < length - taken ? piece : length - taken;

        if (result != REPLY_BODY_GOES_ON)
            return result == REPLY_BODY_COMPLETE ? REPLY_BODY_EXCEEDED : result;
        char *copy = malloc(part);
        REQUIRE(copy);
        memcpy(copy, data + taken, part);
        result = reply_body_take(&all, c, copy, part);
        free(copy);
    }
    return result;
}

/* Reads what is behind a head as its body, in one piece and byte by byte. */
static void read_body(const struct reply_head *head, const char *data, size_t length)
{
    struct connection whole = {.head = *head}, pieces = {.head = *head};

    reply_body_begin(&whole);
    reply_body_begin(&pieces);
    const enum reply_body result = take(&whole, data, length, length + 1);
    REQUIRE(take(&pieces, data, length, 1) == result);
    if (result == REPLY_BODY_COMPLETE) {
        REQUIRE(whole.head.body_bytes == pieces.head.body_bytes && whole.head.body_bytes <= length);
        REQUIRE(head->end == REPLY_ENDS_BY_LENGTH || whole.head.content_length == whole.head.body_bytes);
    }
    REQUIRE(result == REPLY_BODY_GOES_ON || head->end != REPLY_ENDS_BY_CLOSE);
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
        REQUIRE(head.body_bytes == 0 || head.body_bytes == head.content_length ||
                (head.end == REPLY_ENDS_BY_CLOSE && head.connection_close));
        REQUIRE(inside(head.etag, data, &head) && inside(head.last_modified, data, &head));
        REQUIRE(reply_parse_head(data, head.head_bytes, to_head, &again) == REPLY_PARSED);
        REQUIRE(again.status == head.status && again.body_bytes == head.body_bytes);
        /* In memory of its own, so that reading beyond it is found. */
        prefix = malloc(head.head_bytes - 1);
        REQUIRE(prefix);
        memcpy(prefix, data, head.head_bytes - 1);
        REQUIRE(reply_parse_head(prefix, head.head_bytes - 1, to_head, &again) == REPLY_INCOMPLETE);
        free(prefix);
        read_body(&head, data + head.head_bytes, length - head.head_bytes);
    }
    free(data);
    return 0;
}
