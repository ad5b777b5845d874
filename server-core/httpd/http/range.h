/*
 * Ranges of bytes: what a Range header asks for (RFC 9110 §14), and the texts between the parts of a reply
 * with several of them.
 */
#ifndef TRIMTAB_HTTPD_HTTP_RANGE_H
#define TRIMTAB_HTTPD_HTTP_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More are not served one by one: a request could otherwise make us send a file hundreds of times over in
 * pieces (§17.15). */
#define RANGES_MAX 16

struct byte_range {
    uint64_t first, end; /* [first, end) */
};

enum range_outcome {
    RANGE_WHOLE,         /* no range, or none that has to be obeyed: send everything */
    RANGE_PARTS,         /* send these */
    RANGE_UNSATISFIABLE, /* every range begins behind the end: 416 */
};

/*
 * Reads the value of a Range header for a representation of `size` bytes. On RANGE_PARTS fills in
 * 1…RANGES_MAX ranges, in the order in which they were asked for; ranges that overlap or touch are sent as
 * one, and then all in ascending order.
 */
enum range_outcome range_parse(const char *value, size_t length, uint64_t size,
                               struct byte_range ranges[RANGES_MAX], unsigned *count);

#define MULTIPART_BOUNDARY_LENGTH 24
#define MULTIPART_TEXT_MAX        384

/* A body of several ranges, each with a head of its own (§14.6). */
struct multipart {
    unsigned count;
    unsigned next; /* part to send next; `count` is the text behind the last */
    uint64_t size; /* of the whole representation */
    const char *type;
    char boundary[MULTIPART_BOUNDARY_LENGTH + 1];
    struct byte_range ranges[RANGES_MAX];
};

/* Gives the body a boundary that nobody can foresee, so that no file can contain it on purpose. */
void multipart_begin(struct multipart *multipart);

/* Writes what stands before part `index`, or behind the last one. Returns its length. */
size_t multipart_text(const struct multipart *multipart, unsigned index, char text[MULTIPART_TEXT_MAX]);

/* Returns the length of the whole body. */
uint64_t multipart_length(const struct multipart *multipart);

#endif
