/*
 * See reply.h.
 */
#include "httpd/http/reply.h"

#include "httpd/http/conditions.h"
#include "httpd/http/path.h"
#include "httpd/http/range.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *connection_header(const struct asking *asking)
{
    return response_connection_header(asking->keep_alive, asking->request->minor_version);
}

/* Makes a reply of which the head has been written. */
static void make(struct reply *reply, const struct asking *asking, enum http_status status, size_t length)
{
    *reply =
        (struct reply){.text = asking->text, .text_length = (uint32_t)length, .status = (uint16_t)status};
}

void reply_make_error(struct reply *reply, const struct asking *asking, enum http_status status,
                      const char *more)
{
    const size_t length = response_error(asking->text, status, asking->date, more, connection_header(asking),
                                         asking->request->method == METHOD_HEAD);
    const char *body = strstr(asking->text, "\r\n\r\n") + 4;

    make(reply, asking, status, length);
    reply->body_bytes = length - (size_t)(body - asking->text);
    reply->text_body = (uint32_t)reply->body_bytes;
}

void reply_make_redirect(struct reply *reply, const struct asking *asking, const char *path)
{
    const struct request *request = asking->request;
    const char *target = asking->data + request->target_offset;
    const char *query = memchr(target, '?', request->target_length);
    const size_t query_length = query ? request->target_length - (size_t)(query - target) : 0;
    char location[LOCATION_MAX];
    char more[HEADER_LINE_MAX];

    if (!path_encode(path, location, sizeof(location) - query_length - 1)) {
        reply_make_error(reply, asking, HTTP_URI_TOO_LONG, "");
        return;
    }
    snprintf(more, sizeof(more), "Location: %s/%.*s\r\n", location, (int)query_length, query ? query : "");
    reply_make_error(reply, asking, HTTP_MOVED_PERMANENTLY, more);
}

/* Writes the head of the whole file, and behind it as many bytes of contents, to where the reply is sent
 * from: where they lie finished, if that is allowed and nothing is to be put in between. Returns that place.
 */
static char *place_whole(const struct asking *asking, const struct representation *representation,
                         const char *header, size_t header_length, size_t contents)
{
    const size_t before = representation->head_length - 2; /* the empty line */
    char *text = asking->text;

    if (header_length == 0 && representation->in_place)
        return representation->head;
    if (header_length == 0) {
        memcpy(text, representation->head, representation->head_length + contents);
    } else {
        memcpy(text, representation->head, before);
        memcpy(text + before, header, header_length);
        memcpy(text + before + header_length, representation->head + before, 2 + contents);
    }
    return text;
}

/* The whole file; its head lies finished, and so does all if its contents are there. */
static void make_whole(struct reply *reply, const struct asking *asking,
                       const struct representation *representation)
{
    const bool wants_body = asking->request->method != METHOD_HEAD;
    const size_t contents = wants_body && representation->contents ? representation->size : 0;
    const char *header = connection_header(asking);
    const size_t header_length = strlen(header);
    char *text = place_whole(asking, representation, header, header_length, contents);

    memcpy(text + representation->date_offset, asking->date->text, HTTP_DATE_LENGTH);
    if (representation->expires_offset > 0) {
        http_date_update(asking->expires, asking->date->second + (time_t)representation->expires_s);
        memcpy(text + representation->expires_offset, asking->expires->text, HTTP_DATE_LENGTH);
    }
    make(reply, asking, HTTP_OK, representation->head_length + header_length + contents);
    reply->text = text;
    reply->text_body = (uint32_t)contents;
    reply->body_bytes = wants_body ? representation->size : 0;
    reply->end = (off_t)(reply->body_bytes - contents);
}

/* What is said of a file in a head that does not lie finished. */
struct description {
    const char *type;
    struct validators validators;
    char lines[PRESENTATION_LINES_MAX];
};

static void describe(const struct representation *representation, const struct asking *asking,
                     enum coding coding, struct description *description)
{
    description->type = mime_type(representation->presentation->types, representation->path);
    presentation_lines(representation->presentation, representation->path, coding, representation->codings,
                       asking->date->second, description->lines);
}

/* With a head made for this occasion; the response says all but date, validators and further lines, of which
 * it has its own. */
static void make_with_head(struct reply *reply, const struct asking *asking,
                           const struct description *description, struct file_response *response)
{
    char more[RESPONSE_HEAD_MAX];
    size_t date_offset, length;

    snprintf(more, sizeof(more), "%s%s%s", response->more, description->lines, connection_header(asking));
    response->date = asking->date->text;
    response->validators = &description->validators;
    response->now = asking->date->second;
    response->more = more;
    length = response_file_head(asking->text, response, &date_offset);
    make(reply, asking, response->status, length);
    reply->body_bytes = asking->request->method == METHOD_HEAD ? 0 : response->length;
}

/* A whole compressed file. */
static void make_coded(struct reply *reply, const struct asking *asking,
                       const struct representation *representation, const struct description *description)
{
    make_with_head(
        reply, asking, description,
        &(struct file_response){
            .status = HTTP_OK, .type = description->type, .length = representation->size, .more = ""});
    reply->end = (off_t)reply->body_bytes;
}

static void make_one_range(struct reply *reply, const struct asking *asking,
                           const struct representation *representation, const struct description *description,
                           struct byte_range range)
{
    char more[96];

    snprintf(more, sizeof(more), "Content-Range: bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64 "\r\n", range.first,
             range.end - 1, representation->size);
    make_with_head(reply, asking, description,
                   &(struct file_response){.status = HTTP_PARTIAL_CONTENT,
                                           .type = description->type,
                                           .length = range.end - range.first,
                                           .more = more});
    reply->offset = (off_t)range.first;
    reply->end = (off_t)range.end;
}

/* Several ranges. Returns false when there is no memory. */
static bool make_ranges(struct reply *reply, const struct asking *asking,
                        const struct representation *representation, const struct description *description,
                        const struct byte_range *ranges, unsigned count)
{
    struct multipart *multipart = malloc(sizeof(*multipart));
    char type[64];

    if (!multipart)
        return false;
    multipart->count = count;
    multipart->size = representation->size;
    multipart->type = description->type;
    memcpy(multipart->ranges, ranges, count * sizeof(*ranges));
    multipart_begin(multipart);
    snprintf(type, sizeof(type), "multipart/byteranges; boundary=%s", multipart->boundary);
    make_with_head(
        reply, asking, description,
        &(struct file_response){
            .status = HTTP_PARTIAL_CONTENT, .type = type, .length = multipart_length(multipart), .more = ""});
    reply->multipart = multipart;
    return true;
}

/* The client has the file. It is told what of a whole reply keeps that fresh, and nothing else of the file: a
 * tag goes with every reply, so not even when it was changed (RFC 9110 §15.4.5). */
static void make_not_modified(struct reply *reply, const struct asking *asking,
                              const struct representation *representation, struct description *description)
{
    describe(representation, asking, CODING_NONE, description);
    make_with_head(reply, asking, description,
                   &(struct file_response){.status = HTTP_NOT_MODIFIED, .more = ""});
}

/* To a request that has preconditions, asks for ranges or gets a compressed file. */
static void make_specially(struct reply *reply, const struct asking *asking,
                           const struct representation *representation)
{
    struct byte_range ranges[RANGES_MAX];
    struct description description;
    enum range_outcome outcome = RANGE_WHOLE;
    enum http_status status;
    const char *range;
    size_t range_length;
    unsigned count;
    char more[64];

    validators_make(&description.validators, representation->size, representation->modified,
                    representation->coding != CODING_NONE ? CODINGS[representation->coding].name : "");
    status = conditions_evaluate(asking->request, asking->data, &description.validators, asking->date->second,
                                 &range, &range_length);
    if (status == HTTP_NOT_MODIFIED) {
        make_not_modified(reply, asking, representation, &description);
        return;
    }
    if (status != HTTP_OK) {
        reply_make_error(reply, asking, status, "");
        return;
    }
    describe(representation, asking, representation->coding, &description);
    if (range)
        outcome = range_parse(range, range_length, representation->size, ranges, &count);
    if (outcome == RANGE_UNSATISFIABLE) {
        snprintf(more, sizeof(more), "Content-Range: bytes */%" PRIu64 "\r\n", representation->size);
        reply_make_error(reply, asking, HTTP_RANGE_NOT_SATISFIABLE, more);
    } else if (outcome == RANGE_PARTS && count == 1) {
        make_one_range(reply, asking, representation, &description, ranges[0]);
    } else if (outcome != RANGE_PARTS ||
               !make_ranges(reply, asking, representation, &description, ranges, count)) {
        /* which a server may always do (RFC 9110 §14.2) */
        if (representation->coding == CODING_NONE)
            make_whole(reply, asking, representation);
        else
            make_coded(reply, asking, representation, &description);
    }
}

void reply_make_file(struct reply *reply, const struct asking *asking,
                     const struct representation *representation)
{
    if (asking->request->conditional || representation->coding != CODING_NONE)
        make_specially(reply, asking, representation);
    else
        make_whole(reply, asking, representation);
}

bool reply_has_next_part(const struct reply *reply)
{
    return reply->multipart && reply->multipart->next <= reply->multipart->count;
}

static void drop_text(struct reply *reply)
{
    if (reply->owns_text)
        free((char *)(uintptr_t)reply->text);
    reply->owns_text = false;
    reply->text = NULL;
    reply->text_sent = reply->text_length = reply->text_body = 0;
}

bool reply_own_text(struct reply *reply)
{
    const uint32_t left = reply->text_length - reply->text_sent;
    char *copy;

    if (reply->owns_text || left == 0)
        return true;
    copy = malloc(left);
    if (!copy)
        return false;
    memcpy(copy, reply->text + reply->text_sent, left);
    reply->text = copy;
    reply->text_sent = 0;
    reply->text_length = left;
    reply->owns_text = true;
    return true;
}

bool reply_next_part(struct reply *reply)
{
    struct multipart *multipart = reply->multipart;
    const unsigned index = multipart->next++;
    char text[MULTIPART_TEXT_MAX];

    drop_text(reply);
    reply->text = text;
    reply->text_length = (uint32_t)multipart_text(multipart, index, text);
    if (!reply_own_text(reply)) {
        drop_text(reply);
        return false;
    }
    if (index < multipart->count) {
        reply->offset = (off_t)multipart->ranges[index].first;
        reply->end = (off_t)multipart->ranges[index].end;
    }
    return true;
}

enum reply_progress reply_advance(struct reply *reply, size_t sent)
{
    const size_t text_left = reply->text_length - reply->text_sent;
    const size_t of_text = sent < text_left ? sent : text_left;

    reply->text_sent += (uint32_t)of_text;
    reply->offset += (off_t)(sent - of_text);
    if (of_text < text_left || reply->offset < reply->end)
        return REPLY_GOES_ON;
    if (!reply_has_next_part(reply))
        return REPLY_OVER;
    return reply_next_part(reply) ? REPLY_GOES_ON : REPLY_FAILED;
}

uint64_t reply_body_sent(const struct reply *reply)
{
    const struct multipart *multipart = reply->multipart;
    const uint32_t text_left = reply->text_length - reply->text_sent;
    uint64_t left = reply->offset < reply->end ? (uint64_t)(reply->end - reply->offset) : 0;

    left += text_left < reply->text_body ? text_left : reply->text_body;
    for (unsigned i = multipart ? multipart->next : 0; multipart && i < multipart->count; i++)
        left += multipart->ranges[i].end - multipart->ranges[i].first;
    return reply->body_bytes > left ? reply->body_bytes - left : 0;
}

void reply_drop(struct reply *reply)
{
    drop_text(reply);
    if (reply->multipart)
        free(reply->multipart);
    reply->multipart = NULL;
    reply->offset = reply->end = 0;
}
