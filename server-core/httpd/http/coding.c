/*
 * See coding.h. Section numbers are those of RFC 9110.
 */
#include "httpd/http/coding.h"

#include "httpd/http/text.h"

#include <string.h>

#define NOT_NAMED (-1)
#define BEST      1000 /* weights are in thousandths */
#define WHITE     " \t"

const struct coding_names CODINGS[CODING_COUNT] = {
    [CODING_BR] = {"br", ".br"},
    [CODING_ZSTD] = {"zstd", ".zst"},
    [CODING_GZIP] = {"gzip", ".gz"},
};

bool coding_has_suffix(const char *path)
{
    const size_t length = strlen(path);

    for (enum coding coding = 0; coding < CODING_COUNT; coding++) {
        const size_t suffix_length = strlen(CODINGS[coding].suffix);

        if (length > suffix_length && strcmp(path + length - suffix_length, CODINGS[coding].suffix) == 0)
            return true;
    }
    return false;
}

/* What a client has said of each coding, of the plain file, and of all others (*). */
struct wishes {
    int weights[CODING_COUNT];
    int plain, others;
};

/* Reads the weight among the parameters of an element (§12.4.2). What is no number from 0 to 1 with at most
 * three digits is none at all: 0. */
static int read_weight(const char *text, const char *end)
{
    int weight, place = 100;

    while (text < end && (*text == ';' || strchr(WHITE, *text)))
        text++;
    if (text == end)
        return BEST;
    if (end - text < 3 || (text[0] | 0x20) != 'q' || text[1] != '=' || (text[2] != '0' && text[2] != '1'))
        return 0;
    weight = (text[2] - '0') * BEST;
    text += 3;
    if (text < end && *text == '.') {
        for (text++; text < end && place > 0 && *text >= '0' && *text <= '9'; text++, place /= 10)
            weight += (*text - '0') * place;
    }
    return text == end && weight <= BEST ? weight : 0;
}

/* Notes one element of the list: a coding with its weight. */
static void note(struct wishes *wishes, const char *text, const char *end)
{
    size_t length = 0;
    int weight;

    while (text < end && strchr(WHITE, *text))
        text++;
    while (end > text && strchr(WHITE, end[-1]))
        end--;
    while (text + length < end && text[length] != ';' && !strchr(WHITE, text[length]))
        length++;
    weight = read_weight(text + length, end);
    if (text_equals(text, length, "identity"))
        wishes->plain = weight;
    else if (text_equals(text, length, "*"))
        wishes->others = weight;
    else if (text_equals(text, length, "x-gzip")) /* §8.4.1.3 */
        wishes->weights[CODING_GZIP] = weight;
    for (enum coding coding = 0; coding < CODING_COUNT; coding++) {
        if (text_equals(text, length, CODINGS[coding].name))
            wishes->weights[coding] = weight;
    }
}

enum coding coding_choose(const struct request *request, const char *data, unsigned available)
{
    struct wishes wishes = {.plain = NOT_NAMED, .others = NOT_NAMED};
    struct header header = {0};
    enum coding best = CODING_NONE;
    int best_weight;

    for (enum coding coding = 0; coding < CODING_COUNT; coding++)
        wishes.weights[coding] = NOT_NAMED;
    while (request_find_header(request, data, "Accept-Encoding", &header)) {
        const char *end = header.value + header.value_length;

        for (const char *text = header.value; text < end;) {
            const char *comma = memchr(text, ',', (size_t)(end - text));

            note(&wishes, text, comma ? comma : end);
            text = comma ? comma + 1 : end;
        }
    }
    /* Compressed is better than plain if the client likes it as much, and plain needs no leave. */
    best_weight = wishes.plain > 0 ? wishes.plain - 1 : 0;
    for (enum coding coding = 0; coding < CODING_COUNT; coding++) {
        const int weight = wishes.weights[coding] == NOT_NAMED ? wishes.others : wishes.weights[coding];

        if ((available & CODING_BIT(coding)) && weight > best_weight) {
            best = coding;
            best_weight = weight;
        }
    }
    return best;
}
