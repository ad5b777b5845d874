/*
 * What a MariaDB server says, packet by packet, and what the reader makes of it.
 */
#include "loadgen/sql_reply.h"
#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>

/* Packets as the server of Debian 12 sends them; a greeting and an admission come before all but two. */
#define TEXT(literal) literal, sizeof(literal) - 1
#define GREETING                                                                                             \
    "\x06\0\0\0\x0a"                                                                                         \
    "10.11"
#define ADMISSION "\x07\0\0\x02\0\0\0\2\0\0\0"
#define CHANGED_3 "\x07\0\0\1\0\3\0\2\0\0\0"
#define ONE_COLUMN                                                                                           \
    "\1\0\0\1\1"                                                                                             \
    "\x05\0\0\2\3def\0"
#define END      "\x07\0\0\5\xfe\0\0\2\0\0\0"
#define END_MORE "\x07\0\0\5\xfe\0\0\x0a\0\0\0"
#define DEADLOCK "\x05\0\0\1\xff\xbd\x04#4"

static const struct {
    const char *name;
    const char *text;
    size_t length;
    enum sql_event event; /* the last one */
    uint64_t rows, row_bytes;
    unsigned error;
} cases[] = {
    {"rows changed", TEXT(CHANGED_3), SQL_DONE, 3, 0, 0},
    {"rows changed, their number in two bytes", TEXT("\x09\0\0\1\0\xfc\0\1\0\2\0\0\0"), SQL_DONE, 256, 0, 0},
    {"rows sent",
     TEXT(ONE_COLUMN "\4\0\0\3\3abc"
                     "\1\0\0\4\xfb" END),
     SQL_DONE, 2, 5, 0},
    {"no row", TEXT(ONE_COLUMN END), SQL_DONE, 0, 0, 0},
    {"two results", TEXT(ONE_COLUMN "\4\0\0\3\3abc" END_MORE CHANGED_3), SQL_DONE, 4, 4, 0},
    {"more to come", TEXT(ONE_COLUMN "\4\0\0\3\3abc" END_MORE), SQL_NOTHING, 1, 4, 0},
    {"an error", TEXT(DEADLOCK), SQL_REFUSED, 0, 0, 1213},
    {"an error among the rows", TEXT(ONE_COLUMN "\4\0\0\3\3abc" DEADLOCK), SQL_REFUSED, 1, 4, 1213},
    {"an error without a number", TEXT("\2\0\0\1\xff\xbd"), SQL_MALFORMED, 0, 0, 0},
    {"an end without its flags", TEXT("\3\0\0\1\0\0\0"), SQL_MALFORMED, 0, 0, 0},
    {"a number that is cut off", TEXT("\2\0\0\1\0\xfc"), SQL_MALFORMED, 0, 0, 0},
    {"the wish for a file",
     TEXT("\2\0\0\1\xfb"
          "a"),
     SQL_MALFORMED, 0, 0, 0},
    {"an empty packet", TEXT("\0\0\0\1"), SQL_MALFORMED, 0, 0, 0},
    {"a packet that goes on in another one", TEXT("\xff\xff\xff\1"), SQL_MALFORMED, 0, 0, 0},
};

/* Takes a copy of the text in pieces of `piece` bytes, each of which ends where its memory does. Returns the
 * last event. */
static enum sql_event take(struct sql_reply *reply, const char *text, size_t length, size_t piece)
{
    enum sql_event event = SQL_NOTHING;

    for (size_t at = 0; at < length;) {
        size_t size = piece < length - at ? piece : length - at;
        char *copy = malloc(size);
        memcpy(copy, text + at, size);
        at += sql_reply_take(reply, copy, size, &event);
        free(copy);
    }
    return event;
}

/* Every result of the table is counted, or refused, as the table says, whatever the pieces it comes in. */
static void test_results_are_judged_as_the_table_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (size_t piece = 1; piece <= cases[i].length; piece++) {
            struct sql_reply reply = {0};
            assert_int_equal(SQL_GREETED, take(&reply, TEXT(GREETING), piece));
            assert_int_equal(SQL_ADMITTED, take(&reply, TEXT(ADMISSION), piece));
            sql_reply_forget(&reply);
            enum sql_event event = take(&reply, cases[i].text, cases[i].length, piece);
            if (event != cases[i].event)
                fail_msg("%s: event %d in pieces of %zu", cases[i].name, (int)event, piece);
            assert_int_equal(cases[i].rows, reply.rows);
            assert_int_equal(cases[i].row_bytes, reply.row_bytes);
            assert_int_equal(cases[i].error, reply.error);
            assert_int_equal(cases[i].length, reply.bytes);
        }
}

/* A server that is full says so in place of its greeting. */
static void test_error_in_place_of_the_greeting_is_a_refusal(void **state)
{
    (void)state;
    struct sql_reply reply = {0};
    assert_int_equal(SQL_REFUSED, take(&reply, TEXT("\5\0\0\0\xff\x10\x04To"), 3));
    assert_int_equal(1040, reply.error);
}

/* Something else that listens there is not taken for a MariaDB server. */
static void test_other_protocols_are_refused(void **state)
{
    (void)state;
    struct sql_reply reply = {0};
    assert_int_equal(SQL_MALFORMED, take(&reply,
                                         TEXT("\3\0\0\0"
                                              "SSH"),
                                         7));
}

/* A server that wants a password is one that refuses this client. */
static void test_wish_for_another_proof_is_a_refusal(void **state)
{
    (void)state;
    struct sql_reply reply = {0};
    assert_int_equal(SQL_GREETED, take(&reply, TEXT(GREETING), 10));
    assert_int_equal(SQL_REFUSED, take(&reply,
                                       TEXT("\3\0\0\2\xfe"
                                            "a\0"),
                                       10));
    assert_int_equal(1045, reply.error);
}

/* After an error the same connection takes the next statement. */
static void test_result_after_an_error_is_read(void **state)
{
    (void)state;
    struct sql_reply reply = {.phase = SQL_RESULT};
    assert_int_equal(SQL_REFUSED, take(&reply, TEXT(ONE_COLUMN DEADLOCK), 5));
    sql_reply_forget(&reply);
    assert_int_equal(SQL_DONE, take(&reply, TEXT(CHANGED_3), 5));
    assert_int_equal(3, reply.rows);
    assert_int_equal(0, reply.error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_are_judged_as_the_table_says),
        cmocka_unit_test(test_error_in_place_of_the_greeting_is_a_refusal),
        cmocka_unit_test(test_other_protocols_are_refused),
        cmocka_unit_test(test_wish_for_another_proof_is_a_refusal),
        cmocka_unit_test(test_result_after_an_error_is_read),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
