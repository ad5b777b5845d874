/*
 * See characters.h.
 */
#include "httpd/http/characters.h"

#include <string.h>

#define TOKEN  CHARACTER_TOKEN
#define VALUE  CHARACTER_VALUE
#define TARGET CHARACTER_TARGET
#define HOST   CHARACTER_HOST
#define DIGIT  CHARACTER_DIGIT
#define NAME   (CHARACTER_NAME | CHARACTER_HOST)
#define LETTER (TOKEN | VALUE | TARGET | NAME)

/* clang-format off */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* ranges as designators: an extension of gcc and clang */
const uint8_t CHARACTER_CLASSES[256] = {
    ['\t'] = VALUE, [' '] = VALUE,
    ['"'] = VALUE, ['<'] = VALUE, ['>'] = VALUE, ['\\'] = VALUE,
    ['!'] = LETTER, ['$'] = LETTER, ['%'] = LETTER, ['&'] = LETTER, ['\''] = LETTER, ['*'] = LETTER,
    ['+'] = LETTER, ['-'] = LETTER, ['.'] = LETTER, ['_'] = LETTER, ['~'] = LETTER,
    ['#'] = TOKEN | VALUE,
    ['^'] = TOKEN | VALUE | TARGET, ['`'] = TOKEN | VALUE | TARGET, ['|'] = TOKEN | VALUE | TARGET,
    ['{'] = VALUE | TARGET, ['}'] = VALUE | TARGET, ['/'] = VALUE | TARGET, ['?'] = VALUE | TARGET,
    ['@'] = VALUE | TARGET,
    ['('] = VALUE | TARGET | NAME, [')'] = VALUE | TARGET | NAME, [','] = VALUE | TARGET | NAME,
    [':'] = VALUE | TARGET | HOST, [';'] = VALUE | TARGET | NAME, ['='] = VALUE | TARGET | NAME,
    ['['] = VALUE | TARGET | HOST, [']'] = VALUE | TARGET | HOST,
    ['0' ... '9'] = LETTER | DIGIT, ['A' ... 'Z'] = LETTER, ['a' ... 'z'] = LETTER,
    [0x80 ... 0xFF] = VALUE,
};
#pragma GCC diagnostic pop
/* clang-format on */

#define LANES 16

/* So many bytes side by side; the compiler makes of them what the processor has. Comparisons set all bits of
 * a lane. */
typedef uint8_t lanes_t __attribute__((vector_size(LANES)));

static lanes_t load_lanes(const char *text)
{
    lanes_t lanes;

    memcpy(&lanes, text, LANES);
    return lanes;
}

/* Says whether any lane is set. */
static bool any_lane(lanes_t lanes)
{
    uint64_t words[LANES / 8];

    memcpy(words, &lanes, LANES);
    return (words[0] | words[1]) != 0;
}

/* Returns the number of the first lane that is set; LANES: none is. */
static size_t first_lane(lanes_t lanes)
{
    uint64_t words[LANES / 8];

    memcpy(words, &lanes, LANES);
    for (size_t i = 0; i < LANES / 8; i++) {
        if (words[i] != 0)
            return 8 * i + (size_t)(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_ctzll(words[i])
                                                                              : __builtin_clzll(words[i])) /
                               8;
    }
    return LANES;
}

/* Sixteen bytes at a time where there are so many; the table says what the first other one is. */
size_t characters_token_span(const char *text, size_t length)
{
    size_t span = 0;

    if (length >= LANES) {
        const lanes_t bytes = load_lanes(text);
        const lanes_t lower = bytes | 0x20;

        span = first_lane((lanes_t)(((lower < 'a') | (lower > 'z')) & (bytes != '-')));
    }
    return span + characters_span(text + span, length - span, CHARACTER_TOKEN);
}

/* Sets the lanes with a control character that no value may have: any but the tab. */
static lanes_t not_value(lanes_t bytes)
{
    return (lanes_t)(((bytes < ' ') & (bytes != '\t')) | (bytes == 0x7F));
}

/* Of the text of a request most is values, so they are looked at sixteen bytes at a time, the last ones
 * together with some before them. */
bool characters_are_value(const char *text, size_t length)
{
    lanes_t lanes;

    if (length < LANES)
        return characters_span(text, length, VALUE) == length;
    lanes = not_value(load_lanes(text + length - LANES));
    for (size_t i = 0; i + LANES < length; i += LANES)
        lanes |= not_value(load_lanes(text + i));
    return !any_lane(lanes);
}
