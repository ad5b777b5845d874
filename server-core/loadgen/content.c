/*
 * See content.h.
 */
#include "content.h"

#include "random.h"

#include <endian.h>
#include <string.h>

uint64_t content_key(const char *target)
{
    uint64_t key = UINT64_C(0xcbf29ce484222325);
    size_t length = strcspn(target, "?");

    for (size_t i = 0; i < length; i++)
        key = (key ^ (unsigned char)target[i]) * UINT64_C(0x100000001b3);
    return key;
}

/* Word number `index` of the file, in the byte order of the file. */
static uint64_t word_at(uint64_t key, uint64_t index)
{
    return htole64(random_mix(key + (index + 1) * RANDOM_GAMMA));
}

bool content_matches(uint64_t key, uint64_t offset, const char *data, size_t length)
{
    uint64_t index = offset / 8;
    size_t within = offset % 8; /* bytes of the word that lie before the data */

    while (length > 0) {
        uint64_t word = word_at(key, index++);
        size_t part = 8 - within < length ? 8 - within : length;
        if (memcmp((const char *)&word + within, data, part) != 0)
            return false;
        data += part;
        length -= part;
        within = 0;
    }
    return true;
}
