/*
 * What MariaDB servers say: whatever comes, it makes the same events and counts in one piece as byte by byte,
 * and rows have no more bytes than have come.
 */
#include "loadgen/sql_reply.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

#define EVENTS_MAX 4096

/* Takes the data in pieces of `piece` bytes up to what is malformed. Returns how many events there were. */
static size_t take_all(struct sql_reply *reply, const char *data, size_t length, size_t piece,
                       enum sql_event events[static EVENTS_MAX])
{
    enum sql_event event = SQL_NOTHING;
    size_t count = 0;

    for (size_t at = 0; at < length && count < EVENTS_MAX && event != SQL_MALFORMED;) {
        size_t size = piece < length - at ? piece : length - at;
        size_t taken = sql_reply_take(reply, data + at, size, &event);
        REQUIRE(taken > 0 && taken <= size && (taken == size || event != SQL_NOTHING));
        at += taken;
        if (event != SQL_NOTHING)
            events[count++] = event;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static enum sql_event whole[EVENTS_MAX], pieces[EVENTS_MAX];
    struct sql_reply one = {0}, other = {0};
    char *data = malloc(size + 1);

    REQUIRE(data);
    memcpy(data, bytes, size);
    size_t count = take_all(&one, data, size, size, whole);
    REQUIRE(count == take_all(&other, data, size, 1, pieces));
    REQUIRE(memcmp(whole, pieces, count * sizeof(*whole)) == 0);
    REQUIRE(one.rows == other.rows && one.row_bytes == other.row_bytes && one.bytes == other.bytes);
    REQUIRE(one.row_bytes <= one.bytes && one.bytes <= size);
    free(data);
    return 0;
}
