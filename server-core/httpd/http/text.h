/*
 * Small questions about bytes of a request that several parsers ask.
 */
#ifndef TRIMTAB_HTTPD_HTTP_TEXT_H
#define TRIMTAB_HTTPD_HTTP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* Says whether `text` is the word, in any case of letters. */
static inline bool text_equals(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && strncasecmp(text, word, length) == 0;
}

/* Returns where a value begins behind the white space before it, and shortens it by that and by what is
 * behind it (OWS of RFC 9110 §5.6.3). */
static inline const char *text_trim(const char *value, size_t *length)
{
    while (*length > 0 && (*value == ' ' || *value == '\t')) {
        value++;
        --*length;
    }
    while (*length > 0 && (value[*length - 1] == ' ' || value[*length - 1] == '\t'))
        --*length;
    return value;
}

#endif
