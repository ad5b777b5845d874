/*
 * See json_writer.h.
 */
#include "json_writer.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void json_begin(struct json_writer *json, FILE *out)
{
    *json = (struct json_writer){.out = out};
}

void json_end_line(struct json_writer *json)
{
    assert(json->depth == 0 && !json->after_key);
    putc('\n', json->out);
    json->written = 0;
}

/* Puts the comma that belongs before a new element, unless the element is the value of a key. */
static void separate(struct json_writer *json)
{
    const uint32_t bit = UINT32_C(1) << json->depth;

    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (json->written & bit)
        putc(',', json->out);
    json->written |= bit;
}

static void open_container(struct json_writer *json, char bracket)
{
    separate(json);
    putc(bracket, json->out);
    assert(json->depth < JSON_DEPTH_MAX);
    json->depth++;
    json->written &= ~(UINT32_C(1) << json->depth);
}

static void close_container(struct json_writer *json, char bracket)
{
    assert(json->depth > 0 && !json->after_key);
    json->depth--;
    putc(bracket, json->out);
}

void json_open_object(struct json_writer *json)
{
    open_container(json, '{');
}

void json_close_object(struct json_writer *json)
{
    close_container(json, '}');
}

void json_open_array(struct json_writer *json)
{
    open_container(json, '[');
}

void json_close_array(struct json_writer *json)
{
    close_container(json, ']');
}

/*
 * Returns the length (1 to 4) of the UTF-8 sequence at `text`, or 0 when the bytes there are none: stray
 * continuation bytes, overlong forms, surrogates, values above U+10FFFF (Unicode 15, table 3-7).
 */
static size_t utf8_length(const unsigned char *text)
{
    const unsigned char first = text[0];
    unsigned char low = 0x80, high = 0xBF; /* bounds of the second byte */
    size_t length;

    if (first < 0x80)
        return 1;
    if (first >= 0xC2 && first <= 0xDF) {
        length = 2;
    } else if (first >= 0xE0 && first <= 0xEF) {
        length = 3;
        low = first == 0xE0 ? 0xA0 : low;
        high = first == 0xED ? 0x9F : high;
    } else if (first >= 0xF0 && first <= 0xF4) {
        length = 4;
        low = first == 0xF0 ? 0x90 : low;
        high = first == 0xF4 ? 0x8F : high;
    } else {
        return 0;
    }
    if (text[1] < low || text[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++) {
        if (text[i] < 0x80 || text[i] > 0xBF)
            return 0;
    }
    return length;
}

static void write_quoted(FILE *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    putc('"', out);
    while (*at) {
        const size_t length = utf8_length(at);

        if (*at == '"' || *at == '\\') {
            putc('\\', out);
            putc(*at, out);
        } else if (*at < 0x20) {
            fprintf(out, "\\u%04x", *at);
        } else if (length == 0) {
            fputs("\xEF\xBF\xBD", out); /* U+FFFD REPLACEMENT CHARACTER */
        } else {
            fwrite(at, 1, length, out);
        }
        at += length ? length : 1;
    }
    putc('"', out);
}

void json_key(struct json_writer *json, const char *name)
{
    separate(json);
    write_quoted(json->out, name);
    putc(':', json->out);
    json->after_key = true;
}

void json_string(struct json_writer *json, const char *text)
{
    separate(json);
    write_quoted(json->out, text);
}

void json_unsigned(struct json_writer *json, uint64_t value)
{
    separate(json);
    fprintf(json->out, "%" PRIu64, value);
}

void json_signed(struct json_writer *json, int64_t value)
{
    separate(json);
    fprintf(json->out, "%" PRId64, value);
}

void json_number(struct json_writer *json, double value)
{
    char digits[32];

    if (!isfinite(value)) {
        json_null(json);
        return;
    }
    separate(json);
    snprintf(digits, sizeof(digits), "%.15g", value);
    if (strtod(digits, NULL) != value)
        snprintf(digits, sizeof(digits), "%.17g", value);
    fputs(digits, json->out);
}

void json_boolean(struct json_writer *json, bool value)
{
    separate(json);
    fputs(value ? "true" : "false", json->out);
}

void json_null(struct json_writer *json)
{
    separate(json);
    fputs("null", json->out);
}

void json_member_string(struct json_writer *json, const char *name, const char *text)
{
    json_key(json, name);
    json_string(json, text);
}

void json_member_unsigned(struct json_writer *json, const char *name, uint64_t value)
{
    json_key(json, name);
    json_unsigned(json, value);
}

void json_member_signed(struct json_writer *json, const char *name, int64_t value)
{
    json_key(json, name);
    json_signed(json, value);
}

void json_member_number(struct json_writer *json, const char *name, double value)
{
    json_key(json, name);
    json_number(json, value);
}

void json_member_boolean(struct json_writer *json, const char *name, bool value)
{
    json_key(json, name);
    json_boolean(json, value);
}
