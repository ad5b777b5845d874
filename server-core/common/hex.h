/*
 * Hexadecimal digits, which chunk sizes, escapes in targets and the like are written in.
 */
#ifndef TRIMTAB_HEX_H
#define TRIMTAB_HEX_H

/* Returns the value of a hexadecimal digit; -1: it is none. */
static inline int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

#endif
