/*
 * Bodies in chunks, as raw text: what of them is contents, where they end, and that it does not matter in
 * what pieces they come.
 */
#include "common/chunks.h"
#include "tests/unit.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_MAX_ALLOWED 0xFFFF

static const struct {
    const char *text;
    enum chunks_step last; /* with which it ends */
    const char *contents;
    size_t behind; /* bytes at the end of the text that are not of the body */
} cases[] = {
    {"0\r\n\r\n", CHUNKS_COMPLETE, "", 0},
    {"5\r\nhello\r\n0A\r\n0123456789\r\n000\r\n\r\n", CHUNKS_COMPLETE, "hello0123456789", 0},
    {"a\r\n0123456789\r\n0\r\n\r\n", CHUNKS_COMPLETE, "0123456789", 0},
    {"4\r\n\r\n\r\n\r\n0\r\n\r\n", CHUNKS_COMPLETE, "\r\n\r\n", 0},
    {"1\r\nx\r\n0\r\n\r\nHTTP/1.1", CHUNKS_COMPLETE, "x", 8},
    /* What is read over. */
    {"1;a=b;c=\"d\"\r\nx\r\n0 ; e\r\n\r\n", CHUNKS_COMPLETE, "x", 0},
    {"3   \r\nabc\r\n0\t\r\n\r\n", CHUNKS_COMPLETE, "abc", 0},
    {"1\r\nx\r\n0\r\nX: y\r\nZ:\r\n\r\n", CHUNKS_COMPLETE, "x", 0},
    {"1;\xc3\xa4\r\nx\r\n0\r\n\r\n", CHUNKS_COMPLETE, "x", 0},
    /* What is more to come. */
    {"1\r\nx\r\n0\r\n", CHUNKS_FRAMING, "x", 0},
    {"3\r\nab", CHUNKS_CONTENTS, "ab", 0},
    {"FFFF\r\n", CHUNKS_FRAMING, "", 0},
    /* What is no chunk. */
    {"\r\n", CHUNKS_BROKEN, "", 1},
    {" 1\r\n", CHUNKS_BROKEN, "", 3},
    {"+1\r\n", CHUNKS_BROKEN, "", 3},
    {"0x1\r\n", CHUNKS_BROKEN, "", 3},
    {"1\nx", CHUNKS_BROKEN, "", 1},
    {"1\rx\r\n", CHUNKS_BROKEN, "", 2},
    {"1\r\nxy\r\n", CHUNKS_BROKEN, "x", 2},
    {"1\r\nx\n0\r\n", CHUNKS_BROKEN, "x", 3},
    {"1;\x01\r\n", CHUNKS_BROKEN, "", 2},
    {"1 x\r\n", CHUNKS_BROKEN, "", 2},
    {"1 2\r\n", CHUNKS_BROKEN, "", 2},
    {"0\r\n X: y\r\n\r\n", CHUNKS_BROKEN, "", 8},
    {"0\r\n: y\r\n\r\n", CHUNKS_BROKEN, "", 6},
    {"0\r\nX\r\n\r\n", CHUNKS_BROKEN, "", 3},
    {"0\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", CHUNKS_BROKEN, "", 23},
    {"0\r\nX: y\r\n z\r\n\r\n", CHUNKS_BROKEN, "", 5},
    {"0\r\nX: y\n\r\n", CHUNKS_BROKEN, "", 2},
    {"0\r\n\rX", CHUNKS_BROKEN, "", 0},
    {"10000\r\n", CHUNKS_TOO_LONG, "", 2},
    {"10000000000000001\r\n", CHUNKS_TOO_LONG, "", 14},
};

#define CASES (sizeof(cases) / sizeof(*cases))

/* What has been read of a text. */
struct reading {
    struct chunks chunks;
    enum chunks_step last;
    char contents[64];
    size_t contents_length;
    size_t taken;
};

static bool over(const struct reading *reading)
{
    return reading->last != CHUNKS_FRAMING && reading->last != CHUNKS_CONTENTS;
}

/* Reads a piece, from a copy that ends where it ends, so that the sanitizers see every byte read beyond. */
static void read_piece(struct reading *reading, const char *text, size_t length)
{
    char *copy = malloc(length);
    size_t used;

    memcpy(copy, text, length);
    for (size_t taken = 0; taken < length && !over(reading); taken += used) {
        reading->last = chunks_take(&reading->chunks, SIZE_MAX_ALLOWED, copy + taken, length - taken, &used);
        assert_true(used > 0 && used <= length - taken);
        if (reading->last == CHUNKS_CONTENTS) {
            memcpy(reading->contents + reading->contents_length, copy + taken, used);
            reading->contents_length += used;
        }
        reading->taken += used;
    }
    free(copy);
}

static void begin(struct reading *reading)
{
    *reading = (struct reading){.last = CHUNKS_FRAMING};
    chunks_begin(&reading->chunks);
}

static void check(const struct reading *reading, size_t index)
{
    if (reading->last != cases[index].last)
        fail_msg("%s: ends with %d instead of %d", cases[index].text, (int)reading->last,
                 (int)cases[index].last);
    assert_int_equal(strlen(cases[index].contents), reading->contents_length);
    assert_memory_equal(cases[index].contents, reading->contents, reading->contents_length);
    assert_int_equal(strlen(cases[index].text) - cases[index].behind, reading->taken);
}

/* Cut in two anywhere, a body has the contents and the end that the table says. */
static void test_body_cut_anywhere_is_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        const size_t length = strlen(cases[i].text);

        for (size_t cut = 0; cut <= length; cut++) {
            struct reading reading;

            begin(&reading);
            read_piece(&reading, cases[i].text, cut);
            read_piece(&reading, cases[i].text + cut, length - cut);
            check(&reading, i);
        }
    }
}

/* Nor does it matter when each byte comes alone. */
static void test_body_in_single_bytes_is_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        struct reading reading;

        begin(&reading);
        for (size_t at = 0; at < strlen(cases[i].text); at++)
            read_piece(&reading, cases[i].text + at, 1);
        check(&reading, i);
    }
}

/* The framing since the last contents is counted, those of all trailers together. */
static void test_framing_is_counted_between_contents(void **state)
{
    struct reading reading;

    (void)state;
    begin(&reading);
    read_piece(&reading, "1;ab\r\n", 6);
    assert_int_equal(6, reading.chunks.framing);
    read_piece(&reading, "x", 1);
    assert_int_equal(0, reading.chunks.framing);
    read_piece(&reading, "\r\n0\r\nA: b\r\n", 11);
    read_piece(&reading, "C: d\r\n", 6);
    assert_int_equal(17, reading.chunks.framing);
}

/* Any size that the caller allows may come, to the last bit. */
static void test_chunk_may_be_as_long_as_the_caller_allows(void **state)
{
    struct chunks chunks;
    size_t used;

    (void)state;
    chunks_begin(&chunks);
    assert_int_equal(CHUNKS_FRAMING, chunks_take(&chunks, UINT64_MAX, "FFFFFFFFFFFFFFFF\r\n", 18, &used));
    assert_true(chunks.left == UINT64_MAX);
    chunks_begin(&chunks);
    assert_int_equal(CHUNKS_TOO_LONG, chunks_take(&chunks, UINT64_MAX, "10000000000000000\r\n", 19, &used));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_body_cut_anywhere_is_the_same),
        cmocka_unit_test(test_body_in_single_bytes_is_the_same),
        cmocka_unit_test(test_framing_is_counted_between_contents),
        cmocka_unit_test(test_chunk_may_be_as_long_as_the_caller_allows),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
