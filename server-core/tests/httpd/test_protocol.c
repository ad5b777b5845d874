/*
 * The protocol without sockets: what a client says gets the same replies however it is cut into pieces, and
 * whatever each send takes of them.
 */
#include "tests/conversation.h"
#include "tests/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_OF_LETTERS                                                                                      \
    "Content-Type: application/octet-stream\r\nContent-Length: 26\r\n"                                       \
    "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n"

/* Has the client say `bytes` in pieces of `piece` bytes. Returns what the server has said, to be freed. */
static char *listen_to(const char *bytes, size_t piece, size_t step, bool *over)
{
    struct conversation conversation = {.step = step};
    const size_t length = strlen(bytes);
    char *said;

    for (size_t at = 0; at < length; at += piece)
        conversation_hear(&conversation, bytes + at, length - at < piece ? length - at : piece);
    said = conversation.said ? strndup(conversation.said, conversation.length) : strdup("");
    *over = conversation.over;
    conversation_end(&conversation);
    return said;
}

/* The client gets this whole reply, and the connection ends or goes on, in whatever pieces all of it comes.
 */
static char *expect_same(const char *bytes, bool expected_over)
{
    static const size_t pieces[] = {1, 2, 3, 7, 16, 64, 100000};
    static const size_t steps[] = {1, 5, 64, 100000};
    bool over;
    char *expected = listen_to(bytes, 100000, 100000, &over);

    assert_int_equal(over, expected_over);
    for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
        for (size_t j = 0; j < sizeof(steps) / sizeof(*steps); j++) {
            char *said = listen_to(bytes, pieces[i], steps[j], &over);

            assert_string_equal(said, expected);
            assert_int_equal(over, expected_over);
            free(said);
        }
    }
    return expected;
}

static unsigned count_of(const char *text, const char *part)
{
    unsigned count = 0;

    for (; (text = strstr(text, part)) != NULL; text++)
        count++;
    return count;
}

static void test_requests_one_behind_the_other_are_answered_in_their_order(void **state)
{
    char *said = expect_same("GET /letters HTTP/1.1\r\nHost: a\r\n\r\n"
                             "HEAD /letters HTTP/1.1\r\nHost: a\r\n\r\n"
                             "GET /none HTTP/1.1\r\nHost: a\r\n\r\n"
                             "GET /directory?x HTTP/1.1\r\nHost: a\r\n\r\n",
                             false);
    const char *missing = strstr(said, "HTTP/1.1 404 Not Found\r\n");

    (void)state;
    assert_int_equal(count_of(said, "HTTP/1.1 200 OK\r\n"), 2);
    assert_int_equal(count_of(said, HEAD_OF_LETTERS), 2);
    assert_int_equal(count_of(said, "\r\n\r\nabcdefghijklmnopqrstuvwxyzHTTP/1.1 200 OK\r\n"), 1);
    assert_non_null(missing);
    assert_non_null(strstr(missing, "Location: /directory/?x\r\n"));
    free(said);
}

static void test_file_whose_contents_are_in_memory_is_replied_as_if_they_were_not(void **state)
{
    static const char *const forms[] = {
        "GET /%s HTTP/1.1\r\nHost: a\r\n\r\n",
        "HEAD /%s HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /%s HTTP/1.1\r\nHost: a\r\nRange: bytes=3-5\r\n\r\n",
        "GET /%s HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        "GET /%s HTTP/1.0\r\n\r\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        const bool over = i == 4;
        char request[128];
        char *expected, *said;

        snprintf(request, sizeof(request), forms[i], "letters");
        expected = expect_same(request, over);
        snprintf(request, sizeof(request), forms[i], "kept");
        said = expect_same(request, over);
        assert_string_equal(said, expected);
        free(said);
        free(expected);
    }
}

static void test_requests_behind_a_reply_that_is_not_taken_are_kept_and_answered_in_their_order(void **state)
{
    enum { COUNT = 200 };
    struct conversation conversation = {.step = 7, .blocked = true};
    const char *at;

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        char request[128];

        snprintf(request, sizeof(request), "GET /letters HTTP/1.1\r\nHost: a\r\nRange: bytes=%d-%d\r\n\r\n",
                 i % 26, i % 26);
        conversation_hear(&conversation, request, 11); /* so that some are cut */
        conversation_hear(&conversation, request + 11, strlen(request) - 11);
    }
    for (int i = 0; i < COUNT; i++)
        conversation_go_on(&conversation);
    at = conversation.said;
    for (int i = 0; i < COUNT; i++) {
        at = memmem(at, conversation.length - (size_t)(at - conversation.said), "\r\n\r\n", 4);
        assert_non_null(at);
        at += 5;
        assert_int_equal(at[-1], 'a' + i % 26);
    }
    assert_int_equal(at - conversation.said, conversation.length);
    assert_int_equal(protocol_kept_bytes(&conversation.protocol), 0);
    conversation_end(&conversation);
}

static void test_half_a_request_is_answered_by_nothing(void **state)
{
    char *said = expect_same("GET /letters HTTP/1.1\r\nHost: a\r\n\r", false);

    (void)state;
    assert_string_equal(said, "");
    free(said);
}

static void test_body_is_read_over_and_the_next_request_is_served(void **state)
{
    char *said = expect_same("GET /letters HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nGET / HTT"
                             "GET /letters HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                             "3\r\nabc\r\n0\r\n\r\n"
                             "GET /letters HTTP/1.1\r\nHost: a\r\n\r\n",
                             false);

    (void)state;
    assert_int_equal(count_of(said, "HTTP/1.1 200 OK\r\n"), 3);
    free(said);
}

static void test_connection_ends_with_the_reply_to_who_wants_it_closed(void **state)
{
    char *said = expect_same("GET /letters HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
                             "GET /letters HTTP/1.1\r\nHost: a\r\n\r\n",
                             true);

    (void)state;
    assert_int_equal(count_of(said, "HTTP/1.1 "), 1);
    assert_int_equal(count_of(said, "Connection: close\r\n"), 1);
    free(said);
}

static void test_connection_ends_with_what_cannot_be_understood(void **state)
{
    char *said = expect_same("GET /letters HTTP/1.1\r\nHost: a\r\n\r\nGET /letters\n\r\n"
                             "GET /letters HTTP/1.1\r\nHost: a\r\n\r\n",
                             true);

    (void)state;
    assert_int_equal(count_of(said, "HTTP/1.1 200 OK\r\n"), 1);
    assert_int_equal(count_of(said, "HTTP/1.1 400 Bad Request\r\n"), 1);
    free(said);
}

static void test_one_range_is_sent_alone(void **state)
{
    char *said = expect_same("GET /letters HTTP/1.1\r\nHost: a\r\nRange: bytes=3-5\r\n\r\n", false);

    (void)state;
    assert_non_null(strstr(said, "HTTP/1.1 206 Partial Content\r\n"));
    assert_non_null(strstr(said, "Content-Range: bytes 3-5/26\r\n"));
    assert_string_equal(strstr(said, "\r\n\r\n"), "\r\n\r\ndef");
    free(said);
}

static void test_several_ranges_are_sent_as_parts_in_the_order_asked_for(void **state)
{
    char *said = expect_same("GET /long.html HTTP/1.1\r\nHost: a\r\nRange: bytes=260-263,0-1\r\n\r\n", false);

    (void)state;
    assert_string_equal(strstr(said, "\r\n\r\n--"),
                        "\r\n\r\n--BBBBBBBBBBBBBBBBBBBBBBBB\r\n"
                        "Content-Type: text/html\r\nContent-Range: bytes 260-263/300\r\n\r\nabcd"
                        "\r\n--BBBBBBBBBBBBBBBBBBBBBBBB\r\n"
                        "Content-Type: text/html\r\nContent-Range: bytes 0-1/300\r\n\r\nab"
                        "\r\n--BBBBBBBBBBBBBBBBBBBBBBBB--\r\n");
    free(said);
}

static void test_unchanged_file_is_not_sent_again(void **state)
{
    char *said = expect_same("GET /letters HTTP/1.1\r\nHost: a\r\n"
                             "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n",
                             false);

    (void)state;
    assert_non_null(strstr(said, "HTTP/1.1 304 Not Modified\r\n"));
    assert_non_null(strstr(said, "\r\nETag: "));
    assert_null(strstr(said, "Last-Modified"));
    assert_null(strstr(said, "Content-"));
    assert_string_equal(strstr(said, "\r\n\r\n"), "\r\n\r\n");
    free(said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_one_behind_the_other_are_answered_in_their_order),
        cmocka_unit_test(test_file_whose_contents_are_in_memory_is_replied_as_if_they_were_not),
        cmocka_unit_test(test_requests_behind_a_reply_that_is_not_taken_are_kept_and_answered_in_their_order),
        cmocka_unit_test(test_half_a_request_is_answered_by_nothing),
        cmocka_unit_test(test_body_is_read_over_and_the_next_request_is_served),
        cmocka_unit_test(test_connection_ends_with_the_reply_to_who_wants_it_closed),
        cmocka_unit_test(test_connection_ends_with_what_cannot_be_understood),
        cmocka_unit_test(test_one_range_is_sent_alone),
        cmocka_unit_test(test_several_ranges_are_sent_as_parts_in_the_order_asked_for),
        cmocka_unit_test(test_unchanged_file_is_not_sent_again),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
