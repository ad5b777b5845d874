/*
 * Writes one JSON document after another to a stdio stream.
 *
 * DESIGN. The writer only remembers, per nesting level, whether an element has been written, so that it can
 * put the commas; it allocates nothing. The caller names the stream: stdout, a file, or memory
 * (open_memstream). Text is passed through as UTF-8 and escaped as RFC 8259 §7 demands; bytes that are not
 * UTF-8 are replaced by U+FFFD, because a document with them could not be parsed by anybody.
 *
 *     struct json_writer json;
 *     json_begin(&json, stdout);
 *     json_open_object(&json);
 *     json_key(&json, "requests");
 *     json_unsigned(&json, 7);
 *     json_close_object(&json);
 *     json_end_line(&json);          ->  {"requests":7}\n
 */
#ifndef TRIMTAB_JSON_WRITER_H
#define TRIMTAB_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_DEPTH_MAX 31 /* one bit per level */

struct json_writer {
    FILE *out;
    uint32_t written; /* bit d: level d already holds an element */
    unsigned depth;
    bool after_key;
};

/* Prepares a writer on `out`, which stays the caller's to flush and to close (and to ask for errors). */
void json_begin(struct json_writer *json, FILE *out);

/* Ends a document with a newline and gets ready for the next one. All containers must be closed. */
void json_end_line(struct json_writer *json);

void json_open_object(struct json_writer *json);
void json_close_object(struct json_writer *json);
void json_open_array(struct json_writer *json);
void json_close_array(struct json_writer *json);

/* Writes the name of the next member; the value must follow. Only inside an object. */
void json_key(struct json_writer *json, const char *name);

void json_string(struct json_writer *json, const char *text);
void json_unsigned(struct json_writer *json, uint64_t value);
void json_signed(struct json_writer *json, int64_t value);
void json_boolean(struct json_writer *json, bool value);
void json_null(struct json_writer *json);

/* Writes the shortest of 15 or 17 digits that reads back as the same number; null when it is not finite. */
void json_number(struct json_writer *json, double value);

/* A member in one call: key and value. */
void json_member_string(struct json_writer *json, const char *name, const char *text);
void json_member_unsigned(struct json_writer *json, const char *name, uint64_t value);
void json_member_signed(struct json_writer *json, const char *name, int64_t value);
void json_member_number(struct json_writer *json, const char *name, double value);
void json_member_boolean(struct json_writer *json, const char *name, bool value);

#endif
