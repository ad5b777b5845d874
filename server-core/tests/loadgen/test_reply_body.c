/*
 * Bodies of replies of all three kinds: where they end, what is too much, and that it does not matter in what
 * pieces they come.
 */
#include "loadgen/reply_body.h"
#include "loadgen/transport.h"
#include "tests/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD    "HTTP/1.1 200 OK\r\n"
#define LENGTH3 HEAD "Content-Length: 3\r\n\r\n"
#define CHUNKED HEAD "Transfer-Encoding: chunked\r\n\r\n"

static const struct {
    const char *head;
    const char *body;
    enum reply_body result;
    uint64_t bytes; /* of contents, when it is complete */
} cases[] = {
    {LENGTH3, "abc", REPLY_BODY_COMPLETE, 3},
    {LENGTH3, "ab", REPLY_BODY_GOES_ON, 0},
    {LENGTH3, "abcd", REPLY_BODY_EXCEEDED, 0},
    {HEAD "Content-Length: 0\r\n\r\n", "", REPLY_BODY_COMPLETE, 0},
    {CHUNKED, "3\r\nabc\r\n2;x\r\nde\r\n0\r\nT: v\r\n\r\n", REPLY_BODY_COMPLETE, 5},
    {CHUNKED, "0\r\n\r\n", REPLY_BODY_COMPLETE, 0},
    {CHUNKED, "", REPLY_BODY_GOES_ON, 0},
    {CHUNKED, "3\r\nabc\r\n0\r\n", REPLY_BODY_GOES_ON, 0},
    {CHUNKED, "0\r\n\r\nx", REPLY_BODY_EXCEEDED, 0},
    {CHUNKED, "abc", REPLY_BODY_GOES_ON, 0},
    {CHUNKED, "xyz", REPLY_BODY_BROKEN, 0},
    {CHUNKED, "3\r\nabcd\r\n", REPLY_BODY_BROKEN, 0},
    {CHUNKED, "8000000000000000\r\n", REPLY_BODY_BROKEN, 0},
    {HEAD "\r\n", "", REPLY_BODY_GOES_ON, 0},
    {HEAD "\r\n", "abc", REPLY_BODY_GOES_ON, 0},
};

static bool ended_well(const struct connection *c)
{
    (void)c;
    return true;
}

static bool was_cut_off(const struct connection *c)
{
    (void)c;
    return false;
}

static const struct transport whole = {.said_farewell = ended_well}, cut = {.said_farewell = was_cut_off};
static struct connections all = {.transport = &whole};

/* A connection that has received the head. */
static struct connection begun(const char *head)
{
    struct connection c = {0};

    assert_int_equal(REPLY_PARSED, reply_parse_head(head, strlen(head), false, &c.head));
    reply_body_begin(&c);
    return c;
}

/* Takes the text in pieces of `piece` bytes, until it goes on no longer. What comes then is too much. */
static enum reply_body take(struct connection *c, const char *text, size_t length, size_t piece)
{
    enum reply_body result = reply_body_take(&all, c, text, 0); /* with the head nothing need come */

    for (size_t taken = 0; taken < length; taken += piece) {
        if (result != REPLY_BODY_GOES_ON)
            return result == REPLY_BODY_COMPLETE ? REPLY_BODY_EXCEEDED : result;
        result = reply_body_take(&all, c, text + taken, piece < length - taken ? piece : length - taken);
    }
    return result;
}

/* In one piece, in pieces of any other size, and byte by byte. */
static void test_body_ends_where_the_table_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const size_t length = strlen(cases[i].body);

        for (size_t piece = 1; piece <= length + 1; piece++) {
            struct connection c = begun(cases[i].head);
            const enum reply_body result = take(&c, cases[i].body, length, piece);

            if (result != cases[i].result)
                fail_msg("%s in pieces of %zu: %d instead of %d", cases[i].body, piece, (int)result,
                         (int)cases[i].result);
            if (result != REPLY_BODY_COMPLETE)
                continue;
            assert_int_equal(cases[i].bytes, c.head.body_bytes);
            assert_int_equal(cases[i].bytes, c.head.content_length);
        }
    }
}

/* Only one that has no other end, and whose end was said. */
static void test_end_of_the_stream_ends_a_body_without_a_length(void **state)
{
    struct connection c = begun(HEAD "\r\n");

    (void)state;
    assert_true(c.head.connection_close);
    assert_int_equal(REPLY_BODY_GOES_ON, take(&c, "abcde", 5, 2));
    all.transport = &cut;
    assert_false(reply_body_close(&all, &c));
    all.transport = &whole;
    assert_true(reply_body_close(&all, &c));
    assert_int_equal(5, c.head.body_bytes);
    assert_int_equal(5, c.head.content_length);
    c = begun(LENGTH3);
    assert_false(reply_body_close(&all, &c));
    c = begun(CHUNKED);
    assert_false(reply_body_close(&all, &c));
}

/* As many bytes as a head may have stand between two contents or behind the last; not one more. */
static void test_framing_is_limited_like_a_head(void **state)
{
    static const char *const formats[] = {"1\r\nx\r\n0\r\nT: %s\r\n\r\n", "1\r\nx\r\n1;%s\r\ny\r\n0\r\n\r\n"};
    /* Of the framing that has the filling in it. */
    static const size_t others[] = {sizeof("\r\n0\r\nT: \r\n\r\n") - 1, sizeof("\r\n1;\r\n") - 1};
    static char filling[REPLY_HEAD_MAX], text[2 * REPLY_HEAD_MAX];

    (void)state;
    for (unsigned i = 0; i < 2; i++)
        for (size_t extra = 0; extra < 2; extra++)
            for (size_t piece = 1; piece <= sizeof(text); piece *= sizeof(text)) {
                const size_t length = REPLY_HEAD_MAX - others[i] + extra;
                struct connection c = begun(CHUNKED);

                memset(filling, 'f', length);
                filling[length] = '\0';
                snprintf(text, sizeof(text), formats[i], filling);
                assert_int_equal(extra ? REPLY_BODY_BROKEN : REPLY_BODY_COMPLETE,
                                 take(&c, text, strlen(text), piece));
            }
}

/* Chunks must be looked at; other bodies need not be received, and are asked for with one byte more. */
static void test_only_chunks_and_verified_bodies_are_received(void **state)
{
    struct connection c = begun(LENGTH3);

    (void)state;
    assert_false(reply_body_looked_at(&c));
    assert_int_equal(4, reply_body_wanted(&c));
    c = begun(HEAD "Content-Length: 1000000\r\n\r\n");
    assert_int_equal(1000001, reply_body_wanted(&c));
    c.asked.verifying = true;
    assert_true(reply_body_looked_at(&c));
    assert_int_equal(RECEIVE_BYTES, reply_body_wanted(&c));
    c = begun(CHUNKED);
    assert_true(reply_body_looked_at(&c));
    assert_int_equal(RECEIVE_BYTES, reply_body_wanted(&c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_body_ends_where_the_table_says),
        cmocka_unit_test(test_end_of_the_stream_ends_a_body_without_a_length),
        cmocka_unit_test(test_framing_is_limited_like_a_head),
        cmocka_unit_test(test_only_chunks_and_verified_bodies_are_received),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
