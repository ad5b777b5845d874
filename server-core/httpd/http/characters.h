/*
 * Which characters may stand where in the head of a request. Section numbers are those of RFC 9112, with
 * "9110:" of RFC 9110.
 */
#ifndef TRIMTAB_HTTPD_HTTP_CHARACTERS_H
#define TRIMTAB_HTTPD_HTTP_CHARACTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Classes of characters. */
enum {
    CHARACTER_TOKEN = 1,  /* 9110:5.6.2, methods and field names */
    CHARACTER_VALUE = 2,  /* 9110:5.5, field values: visible, obs-text, space, tab */
    CHARACTER_TARGET = 4, /* §3.2; what browsers leave unescaped (`|`, `[`, `^`…) is let pass */
    CHARACTER_HOST = 8,   /* RFC 3986 §3.2.2, without looking at the grammar of IPv6 literals */
    CHARACTER_DIGIT = 16,
    CHARACTER_NAME = 32, /* of a host, but for colons, brackets of IP literals and percent-encoding */
};

extern const uint8_t CHARACTER_CLASSES[256]; /* of each character */

/* Returns how many bytes at the start of `text` are all of class `class`. */
static inline size_t characters_span(const char *text, size_t length, uint8_t class)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t i = 0;

    while (i + 4 <= length && (CHARACTER_CLASSES[bytes[i]] & CHARACTER_CLASSES[bytes[i + 1]] &
                               CHARACTER_CLASSES[bytes[i + 2]] & CHARACTER_CLASSES[bytes[i + 3]] & class))
        i += 4;
    while (i < length && (CHARACTER_CLASSES[bytes[i]] & class))
        i++;
    return i;
}

/* The same for CHARACTER_TOKEN, where most are letters and dashes, as in the name of a header. */
size_t characters_token_span(const char *text, size_t length);

/* Returns the place, at or behind `from`, of the first byte of `text` that is not of class CHARACTER_VALUE;
 * `length`: there is none. All that may stand in a line of a head is of that class. */
size_t characters_value_end(const char *text, size_t from, size_t length);

#endif
