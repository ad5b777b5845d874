/*
 * The functions that look at many bytes at a time, compared with the table that says it of each byte.
 */
#include "httpd/http/characters.h"
#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>

#define LENGTH_MAX 40 /* two blocks of sixteen, and some more */

/* Returns a text of letters in which the byte at `place` is another one. AddressSanitizer watches its end. */
static char *letters_but(size_t length, size_t place, int byte)
{
    char *text = malloc(length);

    assert_non_null(text);
    memset(text, 'a', length);
    text[place] = (char)byte;
    return text;
}

/* What stands before the place from which on it looks would end it, if it were looked at. */
static void test_end_of_a_value_is_the_first_byte_that_it_may_not_have(void **state)
{
    (void)state;
    for (size_t length = 1; length <= LENGTH_MAX; length++) {
        for (size_t place = 0; place < length; place++) {
            for (int byte = 0; byte < 256; byte++) {
                const bool is_value = CHARACTER_CLASSES[byte] & CHARACTER_VALUE;
                char *text = letters_but(length, place, byte);

                assert_int_equal(characters_value_end(text, 0, length), is_value ? length : place);
                memset(text, '\n', place);
                assert_int_equal(characters_value_end(text, place, length), is_value ? length : place);
                free(text);
            }
        }
    }
}

static void test_span_of_a_token_ends_with_the_first_byte_that_it_may_not_have(void **state)
{
    (void)state;
    for (size_t length = 1; length <= LENGTH_MAX; length++) {
        for (size_t place = 0; place < length; place++) {
            for (int byte = 0; byte < 256; byte++) {
                const bool is_token = CHARACTER_CLASSES[byte] & CHARACTER_TOKEN;
                char *text = letters_but(length, place, byte);

                assert_int_equal(characters_token_span(text, length), is_token ? length : place);
                free(text);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_end_of_a_value_is_the_first_byte_that_it_may_not_have),
        cmocka_unit_test(test_span_of_a_token_ends_with_the_first_byte_that_it_may_not_have),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
