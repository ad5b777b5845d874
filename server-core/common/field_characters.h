/*
 * Which characters a field of a head may have (RFC 9110 §5). The server's parser of requests, for which they
 * are too slow one by one, has a table (httpd/http/characters.h).
 */
#ifndef TRIMTAB_FIELD_CHARACTERS_H
#define TRIMTAB_FIELD_CHARACTERS_H

#include <stdbool.h>
#include <string.h>

/* Those that a name consists of, and methods too (§5.6.2): those first that are in most. */
static inline bool field_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("!#$%&'*+.^_`|~", c) != NULL);
}

/* Those that a value may have (§5.5): visible ones, blanks, and bytes from 0x80 on. */
static inline bool field_value_character(char c)
{
    return ((unsigned char)c >= ' ' && c != 0x7f) || c == '\t';
}

#endif
