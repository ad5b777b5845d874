/*
 * See sql_reply.h.
 */
#include "sql_reply.h"

#include <stdbool.h>
#include <string.h>

/* First bytes of a payload that say what kind of packet it is. */
enum { MARK_OK = 0x00, MARK_FILE_WANTED = 0xfb, MARK_END = 0xfe, MARK_ERROR = 0xff };

#define GREETING_VERSION 10
#define MORE_RESULTS     0x0008U /* among the flags of a result's end */
#define LONGEST_PAYLOAD  0xffffffU
#define ER_ACCESS_DENIED 1045 /* what it comes to when the server wants another proof of identity */
#define SHORTEST_ERROR   3

static uint32_t payload_bytes(const struct sql_reply *reply)
{
    return (uint32_t)reply->kept[0] | (uint32_t)reply->kept[1] << 8 | (uint32_t)reply->kept[2] << 16;
}

/* Reads the integer of one to nine bytes at *place of the kept bytes. Returns false when the packet ends
 * before it does. */
static bool read_integer(const struct sql_reply *reply, size_t *place, uint64_t *number)
{
    static const unsigned char widths[] = {[0] = 2, [1] = 3, [2] = 8}; /* behind 0xfc, 0xfd, 0xfe */
    const size_t end = SQL_HEADER_BYTES + payload_bytes(reply);

    if (*place >= end)
        return false;
    unsigned first = reply->kept[(*place)++];
    if (first < MARK_FILE_WANTED) {
        *number = first;
        return true;
    }
    if (first == MARK_FILE_WANTED || first == MARK_ERROR)
        return false;
    size_t width = widths[first - 0xfc];
    if (*place + width > end)
        return false;
    *number = 0;
    for (size_t i = 0; i < width; i++)
        *number |= (uint64_t)reply->kept[(*place)++] << (8 * i);
    return true;
}

/* The end of a result: rows changed, the last number given out, flags. */
static enum sql_event end_result(struct sql_reply *reply)
{
    size_t place = SQL_HEADER_BYTES + 1;
    uint64_t changed, last_number;

    if (!read_integer(reply, &place, &changed) || !read_integer(reply, &place, &last_number) ||
        place + 2 > SQL_HEADER_BYTES + payload_bytes(reply))
        return SQL_MALFORMED;
    reply->rows += changed;
    reply->phase = SQL_RESULT;
    return reply->kept[place] & MORE_RESULTS ? SQL_NOTHING : SQL_DONE;
}

static enum sql_event begin_result(struct sql_reply *reply, unsigned mark)
{
    size_t place = SQL_HEADER_BYTES;
    uint64_t columns;

    if (mark == MARK_OK)
        return end_result(reply);
    if (!read_integer(reply, &place, &columns) || columns > UINT16_MAX)
        return SQL_MALFORMED;
    reply->columns_left = (uint32_t)columns;
    reply->phase = SQL_COLUMNS;
    return SQL_NOTHING;
}

/* A whole packet has come. */
static enum sql_event end_packet(struct sql_reply *reply)
{
    uint32_t length = payload_bytes(reply);
    unsigned mark = reply->kept[SQL_HEADER_BYTES];

    if (length == 0)
        return SQL_MALFORMED;
    if (mark == MARK_ERROR) {
        if (length < SHORTEST_ERROR)
            return SQL_MALFORMED;
        reply->error = reply->kept[SQL_HEADER_BYTES + 1] | (unsigned)reply->kept[SQL_HEADER_BYTES + 2] << 8;
        if (reply->phase > SQL_ADMISSION)
            reply->phase = SQL_RESULT;
        return SQL_REFUSED;
    }
    switch (reply->phase) {
    case SQL_GREETING:
        reply->phase = SQL_ADMISSION;
        return mark == GREETING_VERSION ? SQL_GREETED : SQL_MALFORMED;
    case SQL_ADMISSION:
        reply->error = ER_ACCESS_DENIED;
        reply->phase = SQL_RESULT;
        return mark == MARK_OK ? SQL_ADMITTED : mark == MARK_END ? SQL_REFUSED : SQL_MALFORMED;
    case SQL_RESULT:
        return begin_result(reply, mark);
    case SQL_COLUMNS:
        if (--reply->columns_left == 0)
            reply->phase = SQL_ROWS;
        return SQL_NOTHING;
    case SQL_ROWS:
        break;
    }
    if (mark == MARK_END)
        return end_result(reply);
    reply->rows++;
    reply->row_bytes += length;
    return SQL_NOTHING;
}

void sql_reply_forget(struct sql_reply *reply)
{
    reply->error = 0;
    reply->rows = 0;
    reply->row_bytes = 0;
    reply->bytes = 0;
}

size_t sql_reply_take(struct sql_reply *reply, const char *data, size_t length, enum sql_event *event)
{
    size_t taken = 0;

    *event = SQL_NOTHING;
    while (taken < length && *event == SQL_NOTHING) {
        size_t end = SQL_HEADER_BYTES;
        if (reply->got >= SQL_HEADER_BYTES)
            end += payload_bytes(reply);
        size_t part = end - reply->got;
        part = part < length - taken ? part : length - taken;
        if (reply->got < SQL_KEPT_BYTES) {
            size_t room = SQL_KEPT_BYTES - reply->got;
            memcpy(reply->kept + reply->got, data + taken, part < room ? part : room);
        }
        reply->got += (uint32_t)part;
        taken += part;
        if (reply->got < SQL_HEADER_BYTES)
            continue;
        if (payload_bytes(reply) == LONGEST_PAYLOAD)
            *event = SQL_MALFORMED;
        else if (reply->got == SQL_HEADER_BYTES + payload_bytes(reply)) {
            *event = end_packet(reply);
            reply->got = 0;
        }
    }
    reply->bytes += taken;
    return taken;
}
