/*
 * The lines of the access log; see access_log.h. Nothing here may cost more than copying: a line is made for
 * every request.
 */
#include "httpd/connection/access_log.h"

#include "httpd/http/text.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

#define FIELD_MAX    2048 /* bytes of a field; longer ones are cut off */
#define ESCAPE_BYTES 4    /* \xHH */
#define AROUND_MAX   96   /* bytes of a line that belong to no field of the request, without the address */
#define NUMBER_MAX   20   /* digits of a 64-bit number */
#define TIME_LENGTH  strlen("01/Jan/1970:00:00:00 +0000")
#define TIME_MAX     40

/* A line without its outcome, which goes between the two parts. The address of the peer stands at its
 * beginning and stays for the next line. */
struct log_entry {
    uint32_t capacity; /* bytes of text */
    uint32_t peer_length, before_length, length;
    bool pending; /* there is a line that waits for its outcome */
    char text[];
};

struct field {
    const char *text;
    size_t length;
};

/* What a line takes from the request. */
struct fields {
    struct field request_line, referer, agent;
};

/* If the line is a header of this name and none was found before, takes its value. */
static void take_header(struct field *field, const char *line, const char *end, const char *name,
                        size_t name_length)
{
    if (field->text || (size_t)(end - line) <= name_length || line[name_length] != ':' ||
        strncasecmp(line, name, name_length) != 0)
        return;
    field->length = (size_t)(end - line) - name_length - 1;
    field->text = text_trim(line + name_length + 1, &field->length);
}

/* Finds what the log wants in a head, in one go. The request line is taken as it came; it may be no good one.
 */
static struct fields find_fields(const struct request *request, const char *data)
{
    /* What was parsed may have a body behind the head, in which a client writes what it likes. */
    const char *end = data + (request->head_length > 0 ? request->head_length : request->parsed);
    struct fields fields = {0};

    while (data < end && (*data == '\r' || *data == '\n'))
        data++;
    for (const char *line = data, *feed; line < end; line = feed + 1) {
        const char *line_end;

        feed = memchr(line, '\n', (size_t)(end - line));
        if (!feed)
            break;
        line_end = feed > line && feed[-1] == '\r' ? feed - 1 : feed;
        if (line == data)
            fields.request_line = (struct field){line, (size_t)(line_end - line)};
        else if ((*line | 0x20) == 'r')
            take_header(&fields.referer, line, line_end, "Referer", strlen("Referer"));
        else if ((*line | 0x20) == 'u')
            take_header(&fields.agent, line, line_end, "User-Agent", strlen("User-Agent"));
    }
    return fields;
}

static char *put(char *at, const char *text, size_t length)
{
    memcpy(at, text, length);
    return at + length;
}

static bool is_plain(unsigned char c)
{
    return c >= ' ' && c < 0x7F && c != '"' && c != '\\';
}

/* Puts a field in quotation marks: what could end it or deceive a terminal is escaped. "-" if empty. */
static char *put_quoted(char *at, const struct field *field)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *const limit = at + FIELD_MAX - ESCAPE_BYTES;

    *at++ = '"';
    if (field->length == 0)
        *at++ = '-';
    for (size_t i = 0; i < field->length && at < limit; i++) {
        const unsigned char c = (unsigned char)field->text[i];

        if (is_plain(c)) {
            *at++ = (char)c;
        } else {
            *at++ = '\\';
            *at++ = 'x';
            *at++ = digits[c >> 4];
            *at++ = digits[c & 15];
        }
    }
    *at++ = '"';
    return at;
}

/* How long put_quoted() can make a field. */
static size_t quoted_max(const struct field *field)
{
    const size_t escaped = ESCAPE_BYTES * field->length + 3;

    return escaped < FIELD_MAX + 2 ? escaped : FIELD_MAX + 2;
}

static char *put_number(char *at, uint64_t number)
{
    char text[NUMBER_MAX];
    size_t first = sizeof(text);

    do
        text[--first] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    return put(at, text + first, sizeof(text) - first);
}

/* Puts "10/Oct/2000:13:55:36 +0000", made once a second. */
static char *put_time(char *at, time_t second)
{
    static _Thread_local time_t made_for = -1;
    static _Thread_local char text[TIME_MAX];

    if (second != made_for) {
        struct tm utc;

        gmtime_r(&second, &utc);
        strftime(text, sizeof(text), "%d/%b/%Y:%H:%M:%S +0000", &utc); /* the locale is always C */
        made_for = second;
    }
    return put(at, text, TIME_LENGTH);
}

/* Writes the address of the peer. Returns its length. One of IPv4 looks the same whichever kind of socket it
 * came to: one that was passed in may be of both (RFC 4291 §2.5.5.2). */
static size_t write_peer(int socket, char text[INET6_ADDRSTRLEN])
{
    struct sockaddr_storage address = {0};
    const struct in6_addr *ipv6 = &((struct sockaddr_in6 *)&address)->sin6_addr;
    socklen_t length = sizeof(address);

    strcpy(text, "-");
    if (getpeername(socket, (struct sockaddr *)&address, &length) == 0) {
        if (address.ss_family == AF_INET)
            inet_ntop(AF_INET, &((struct sockaddr_in *)&address)->sin_addr, text, INET6_ADDRSTRLEN);
        else if (address.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(ipv6))
            inet_ntop(AF_INET, ipv6->s6_addr + 12, text, INET6_ADDRSTRLEN);
        else if (address.ss_family == AF_INET6)
            inet_ntop(AF_INET6, ipv6, text, INET6_ADDRSTRLEN);
    }
    return strlen(text);
}

/* Gives *entry room for `bytes` of text. Returns false when there is no memory. */
static bool make_room(struct log_entry **entry, int socket, size_t bytes)
{
    struct log_entry *grown;

    if (*entry && (*entry)->capacity >= bytes)
        return true;
    grown = realloc(*entry, sizeof(*grown) + bytes);
    if (!grown)
        return false;
    if (!*entry) {
        *grown = (struct log_entry){0};
        grown->peer_length = (uint32_t)write_peer(socket, grown->text);
    }
    grown->capacity = (uint32_t)bytes;
    *entry = grown;
    return true;
}

bool access_log_begin(struct log_entry **place, int socket, const struct request *request, const char *data,
                      time_t now)
{
    struct fields fields = {0};
    struct log_entry *entry;
    char *at;

    if (data)
        fields = find_fields(request, data);
    if (!make_room(place, socket,
                   INET6_ADDRSTRLEN + AROUND_MAX + quoted_max(&fields.request_line) +
                       quoted_max(&fields.referer) + quoted_max(&fields.agent)))
        return false;
    entry = *place;
    at = put(entry->text + entry->peer_length, " - - [", strlen(" - - ["));
    at = put(put_time(at, now), "] ", 2);
    at = put_quoted(at, &fields.request_line);
    entry->before_length = (uint32_t)(at - entry->text);
    *at++ = ' ';
    at = put_quoted(at, &fields.referer);
    *at++ = ' ';
    at = put_quoted(at, &fields.agent);
    *at++ = '\n';
    entry->length = (uint32_t)(at - entry->text);
    entry->pending = true;
    return true;
}

bool access_log_end(struct log_ring *ring, struct log_entry *entry, const struct reply *reply)
{
    char outcome[2 * (NUMBER_MAX + 1)];
    char *at = outcome;

    if (!entry->pending)
        return true;
    entry->pending = false;
    *at++ = ' ';
    at = put_number(at, reply->status);
    *at++ = ' ';
    at = put_number(at, reply_body_sent(reply));
    return access_log_append(ring,
                             (struct log_part[]){
                                 {entry->text, entry->before_length},
                                 {outcome, (size_t)(at - outcome)},
                                 {entry->text + entry->before_length, entry->length - entry->before_length},
                             },
                             3);
}
