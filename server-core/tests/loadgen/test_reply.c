/*
 * Reply heads, as raw text, and what the parser makes of them.
 */
#include "loadgen/reply.h"
#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>

#define UNKNOWN REPLY_LENGTH_UNKNOWN
#define NONE    {NULL, 0}

#define BY_LENGTH        REPLY_ENDS_BY_LENGTH
#define IN_CHUNKS(close) {200, REPLY_ENDS_BY_CHUNKS, 0, UNKNOWN, 0, close, NONE, NONE}
#define ENCODED(value)   "HTTP/1.1 200 OK\r\nTransfer-Encoding: " value "\r\n\r\n"

static const struct {
    const char *text;
    bool to_head;
    enum reply_parse parse;
    struct reply_head head;
} cases[] = {
    /* What servers send. */
    {"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n",
     false,
     REPLY_PARSED,
     {200, BY_LENGTH, 0, 12, 12, false, NONE, NONE}},
    {"HTTP/1.1 200 OK\r\ncontent-length:12\t \r\nServer: x (y)\r\n\r\n",
     false,
     REPLY_PARSED,
     {200, BY_LENGTH, 0, 12, 12, false, NONE, NONE}},
    {"HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n",
     false,
     REPLY_PARSED,
     {200, BY_LENGTH, 0, 0, 0, false, NONE, NONE}},
    {"HTTP/1.1 404\r\nContent-Length: 1\r\n\r\n",
     false,
     REPLY_PARSED,
     {404, BY_LENGTH, 0, 1, 1, false, NONE, NONE}},
    {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
     false,
     REPLY_PARSED,
     {200, BY_LENGTH, 0, 5, 5, false, NONE, NONE}},
    /* Replies that never have a body. */
    {"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n",
     true,
     REPLY_PARSED,
     {200, BY_LENGTH, 0, 12, 0, false, NONE, NONE}},
    {"HTTP/1.1 200 OK\r\n\r\n", true, REPLY_PARSED, {200, BY_LENGTH, 0, UNKNOWN, 0, false, NONE, NONE}},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
     true,
     REPLY_PARSED,
     {200, BY_LENGTH, 0, UNKNOWN, 0, false, NONE, NONE}},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
     true,
     REPLY_PARSED,
     {200, BY_LENGTH, 0, 5, 0, false, NONE, NONE}},
    {"HTTP/1.1 204 No Content\r\n\r\n",
     false,
     REPLY_PARSED,
     {204, BY_LENGTH, 0, UNKNOWN, 0, false, NONE, NONE}},
    {"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
     false,
     REPLY_PARSED,
     {304, BY_LENGTH, 0, 9, 0, false, NONE, NONE}},
    /* Whether the connection stays. */
    {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\n",
     false,
     REPLY_PARSED,
     {200, BY_LENGTH, 0, 1, 1, true, NONE, NONE}},
    {"HTTP/1.1 200 OK\r\nconnection: Foo , CLOSE\r\nContent-Length: 1\r\n\r\n",
     false,
     REPLY_PARSED,
     {200, BY_LENGTH, 0, 1, 1, true, NONE, NONE}},
    {"HTTP/1.1 200 OK\r\nConnection: closed\r\nContent-Length: 1\r\n\r\n",
     false,
     REPLY_PARSED,
     {200, BY_LENGTH, 0, 1, 1, false, NONE, NONE}},
    {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n",
     false,
     REPLY_PARSED,
     {200, BY_LENGTH, 0, 1, 1, true, NONE, NONE}},
    {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n",
     false,
     REPLY_PARSED,
     {200, BY_LENGTH, 0, 1, 1, false, NONE, NONE}},
    /* Bodies without a length. */
    {"HTTP/1.1 200 OK\r\n\r\n",
     false,
     REPLY_PARSED,
     {200, REPLY_ENDS_BY_CLOSE, 0, UNKNOWN, REPLY_BODY_ENDLESS, true, NONE, NONE}},
    {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n",
     false,
     REPLY_PARSED,
     {200, REPLY_ENDS_BY_CLOSE, 0, UNKNOWN, REPLY_BODY_ENDLESS, true, NONE, NONE}},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false, REPLY_PARSED, IN_CHUNKS(false)},
    {"HTTP/1.1 200 OK\r\ntransfer-encoding: ,\tChunked ,\r\n\r\n", false, REPLY_PARSED, IN_CHUNKS(false)},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n", false, REPLY_PARSED,
     IN_CHUNKS(true)},
    {ENCODED("gzip, chunked"), false, REPLY_TRANSFER_ENCODING, {0}},
    {ENCODED("gzip\r\nTransfer-Encoding: chunked"), false, REPLY_TRANSFER_ENCODING, {0}},
    {ENCODED("gzip"), false, REPLY_TRANSFER_ENCODING, {0}},
    {ENCODED("chunked, gzip"), false, REPLY_TRANSFER_ENCODING, {0}},
    {ENCODED("chunked, chunked"), false, REPLY_TRANSFER_ENCODING, {0}},
    {ENCODED("chunked;q=1"), false, REPLY_TRANSFER_ENCODING, {0}},
    {ENCODED("chunkedx"), false, REPLY_TRANSFER_ENCODING, {0}},
    {ENCODED("identity"), false, REPLY_TRANSFER_ENCODING, {0}},
    {ENCODED(""), false, REPLY_TRANSFER_ENCODING, {0}},
    /* Bodies whose end others may see elsewhere. */
    {ENCODED("chunked\r\nContent-Length: 5"), false, REPLY_MALFORMED, {0}},
    {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
     false,
     REPLY_MALFORMED,
     {0}},
    {ENCODED("gzip\r\nContent-Length: 5"), false, REPLY_MALFORMED, {0}},
    {"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false, REPLY_MALFORMED, {0}},
    /* Heads that are not HTTP. */
    {"HTTP/1.1 200 OK\nContent-Length: 1\n\r\n\r\n", false, REPLY_MALFORMED, {0}},
    {"HTTP/2 200 OK\r\nContent-Length: 1\r\n\r\n", false, REPLY_MALFORMED, {0}},
    {"HTTP/1.1 20 OK\r\nContent-Length: 1\r\n\r\n", false, REPLY_MALFORMED, {0}},
    {"HTTP/1.1 2000 OK\r\nContent-Length: 1\r\n\r\n", false, REPLY_MALFORMED, {0}},
    {"HTTP/1.1 099 OK\r\nContent-Length: 1\r\n\r\n", false, REPLY_MALFORMED, {0}},
    {"HTTP/1.1  200 OK\r\nContent-Length: 1\r\n\r\n", false, REPLY_MALFORMED, {0}},
    {"HTTP/1.1 200 O\001K\r\nContent-Length: 1\r\n\r\n", false, REPLY_MALFORMED, {0}},
    {"HTTP/1.1 200 OK\r\nContent-Length 1\r\n\r\n", false, REPLY_MALFORMED, {0}},
    {"HTTP/1.1 200 OK\r\n: 1\r\n\r\n", false, REPLY_MALFORMED, {0}},
    {"HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\n", false, REPLY_MALFORMED, {0}},
    {"HTTP/1.1 200 OK\r\n Content-Length: 1\r\n\r\n", false, REPLY_MALFORMED, {0}},
    {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", false, REPLY_MALFORMED, {0}},
    {"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", false, REPLY_MALFORMED, {0}},
    {"HTTP/1.1 200 OK\r\nContent-Length: 1 2\r\n\r\n", false, REPLY_MALFORMED, {0}},
    {"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000000000\r\n\r\n", false, REPLY_MALFORMED, {0}},
    {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", false, REPLY_MALFORMED, {0}},
    {"HTTP/1.1 200 OK\r\nX: a\rb\r\nContent-Length: 1\r\n\r\n", false, REPLY_MALFORMED, {0}},
    {"\r\n\r\n", false, REPLY_MALFORMED, {0}},
    {"SSH-2.0-OpenSSH\r\n", false, REPLY_MALFORMED, {0}},
    {"<html>", false, REPLY_MALFORMED, {0}},
    /* Heads that may go on. */
    {"H", false, REPLY_INCOMPLETE, {0}},
    {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r", false, REPLY_INCOMPLETE, {0}},
};

/* Parses a copy that ends where the text ends, so that the sanitizers see every byte read beyond it. */
static enum reply_parse parse_copy(const char *text, size_t length, bool to_head, struct reply_head *head)
{
    char *copy = malloc(length);
    memcpy(copy, text, length);
    enum reply_parse parse = reply_parse_head(copy, length, to_head, head);
    free(copy);
    return parse;
}

/* Every head of the table is understood, or refused, as the table says. */
static void test_heads_are_judged_as_the_table_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct reply_head head;
        enum reply_parse parse = parse_copy(cases[i].text, strlen(cases[i].text), cases[i].to_head, &head);
        if (parse != cases[i].parse)
            fail_msg("%s: result %d instead of %d", cases[i].text, (int)parse, (int)cases[i].parse);
        if (parse != REPLY_PARSED)
            continue;
        assert_int_equal(cases[i].head.status, head.status);
        assert_int_equal(strlen(cases[i].text), head.head_bytes);
        assert_true(cases[i].head.content_length == head.content_length);
        assert_true(cases[i].head.body_bytes == head.body_bytes);
        assert_int_equal(cases[i].head.end, head.end);
        assert_int_equal(cases[i].head.connection_close, head.connection_close);
    }
}

/* Cut off anywhere, a good head is incomplete and never refused. */
static void test_every_prefix_of_a_good_head_is_incomplete(void **state)
{
    (void)state;
    const char *text = "HTTP/1.1 200 OK\r\nServer: x\r\nConnection: keep-alive\r\nContent-Length: 12\r\n\r\n";
    struct reply_head head;
    for (size_t length = 1; length < strlen(text); length++)
        assert_int_equal(REPLY_INCOMPLETE, parse_copy(text, length, false, &head));
}

/* The body that came along is not part of the head. */
static void test_body_behind_the_head_is_left_alone(void **state)
{
    (void)state;
    const char *text = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n\r\n\r\nab";
    struct reply_head head;
    assert_int_equal(REPLY_PARSED, parse_copy(text, strlen(text), false, &head));
    assert_int_equal(strlen(text) - 6, head.head_bytes);
}

/* What a later request may be conditional on is found whatever its case, without the blanks around it. */
static void test_validators_are_found(void **state)
{
    (void)state;
    const char *text = "HTTP/1.1 200 OK\r\netag: \"a b\" \r\nLAST-MODIFIED:Tue, 15 Nov 1994 12:45:26 GMT\r\n"
                       "Content-Length: 0\r\n\r\n";
    struct reply_head head;

    assert_int_equal(REPLY_PARSED, reply_parse_head(text, strlen(text), false, &head));
    assert_int_equal(5, head.etag.length);
    assert_memory_equal("\"a b\"", head.etag.start, 5);
    assert_int_equal(29, head.last_modified.length);
    assert_memory_equal("Tue, 15 Nov 1994 12:45:26 GMT", head.last_modified.start, 29);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_validators_are_found),
        cmocka_unit_test(test_heads_are_judged_as_the_table_says),
        cmocka_unit_test(test_every_prefix_of_a_good_head_is_incomplete),
        cmocka_unit_test(test_body_behind_the_head_is_left_alone),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
