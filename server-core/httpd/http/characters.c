/*
 * See characters.h.
 */
#include "httpd/http/characters.h"

#include <endian.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

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
    ['!'] = LETTER, ['$'] = LETTER, ['&'] = LETTER, ['\''] = LETTER, ['*'] = LETTER,
    ['+'] = LETTER, ['-'] = LETTER, ['.'] = LETTER, ['_'] = LETTER, ['~'] = LETTER,
    ['#'] = TOKEN | VALUE, ['%'] = TOKEN | VALUE | TARGET,
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

/* Returns a bit for each lane that is set, the lowest for the first one. */
static inline unsigned mask_of(lanes_t lanes)
{
#ifdef __SSE2__
    return (unsigned)_mm_movemask_epi8((__m128i)lanes);
#else
    const uint64_t lowest = UINT64_C(0x0101010101010101);   /* bit of each byte, */
    const uint64_t together = UINT64_C(0x0102040810204080); /* which this factor brings into the last one */
    uint64_t words[LANES / 8];

    memcpy(words, &lanes, LANES);
    return (unsigned)((htole64(words[0]) & lowest) * together >> 56 |
                      (htole64(words[1]) & lowest) * together >> 56 << 8);
#endif
}

/* Sixteen bytes at a time where there are so many; the table says what the first other one is. */
size_t characters_token_span(const char *text, size_t length)
{
    size_t span = 0;

    if (length >= LANES) {
        const lanes_t bytes = load_lanes(text);
        const lanes_t lower = bytes | 0x20;
        const unsigned others = mask_of((lanes_t)(((lower < 'a') | (lower > 'z')) & (bytes != '-')));

        span = others ? (size_t)__builtin_ctz(others) : LANES;
        if (others && text[span] == ':')
            return span;
    }
    return span + characters_span(text + span, length - span, CHARACTER_TOKEN);
}

/* Returns a bit for each of sixteen bytes that no value may have: a control character other than the tab. */
static inline unsigned not_value(const char *text)
{
    const lanes_t bytes = load_lanes(text);

    return mask_of((lanes_t)(((bytes < ' ') & (bytes != '\t')) | (bytes == 0x7F)));
}

/* The last bytes are looked at together with some before them. */
size_t characters_value_end(const char *text, size_t from, size_t length)
{
    unsigned others;

    for (; length - from >= LANES; from += LANES) {
        others = not_value(text + from);
        if (others)
            return from + (size_t)__builtin_ctz(others);
    }
    if (length < LANES)
        return from + characters_span(text + from, length - from, VALUE);
    others = not_value(text + length - LANES) >> (LANES - (length - from));
    return others ? from + (size_t)__builtin_ctz(others) : length;
}
