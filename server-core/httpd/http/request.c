/*
 * See request.h. Section numbers are those of RFC 9112, with "9110:" of RFC 9110.
 */
#include "httpd/http/request.h"

#include "common/hex.h"
#include "httpd/http/characters.h"
#include "httpd/http/text.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

enum line_kind {
    LINE_FIRST,   /* request line, before which one empty line may stand (§2.2) */
    LINE_REQUEST, /* request line after that empty line */
    LINE_HEADER,
    LINES_END, /* a body follows */
};

/* Ends the request with an error after which the framing of further bytes cannot be trusted. */
static bool fail(struct request *request, enum http_status status)
{
    request->status = (uint16_t)status;
    request->keep_alive = false;
    request->more_comes = true;
    return true;
}

/* What stands in brackets: an address of IPv6, or of a version to come (RFC 3986 §3.2.2). */
static bool is_ip_literal(const char *text, size_t length)
{
    char address[INET6_ADDRSTRLEN];
    struct in6_addr parsed;
    size_t digits = 0;

    if (length > 0 && (*text == 'v' || *text == 'V')) {
        while (1 + digits < length && hex_value(text[1 + digits]) >= 0)
            digits++;
        return digits > 0 && digits + 2 < length && text[1 + digits] == '.' && !memchr(text, '[', length);
    }
    if (length >= sizeof(address))
        return false;
    memcpy(address, text, length);
    address[length] = '\0';
    return inet_pton(AF_INET6, address, &parsed) == 1;
}

/* Returns how many bytes are of a name, in which others may stand percent-encoded (RFC 3986 §3.2.2). */
static size_t name_span(const char *text, size_t length)
{
    size_t span = characters_span(text, length, CHARACTER_NAME);

    while (span + 2 < length && text[span] == '%' && hex_value(text[span + 1]) >= 0 &&
           hex_value(text[span + 2]) >= 0)
        span += 3 + characters_span(text + span + 3, length - span - 3, CHARACTER_NAME);
    return span;
}

/* A host with an optional port, as in Host and in absolute targets (9110:7.2). */
static bool is_authority(const char *text, size_t length)
{
    size_t host_length;

    if (length > 0 && *text == '[') {
        const char *bracket = memchr(text, ']', length);

        host_length = bracket ? (size_t)(bracket - text) + 1 : 0;
        if (!bracket || characters_span(text, host_length, CHARACTER_HOST) != host_length ||
            !is_ip_literal(text + 1, host_length - 2))
            return false;
    } else {
        host_length = name_span(text, length);
    }
    if (host_length == length)
        return true;
    text += host_length + 1;
    length -= host_length + 1;
    return text[-1] == ':' && characters_span(text, length, CHARACTER_DIGIT) == length;
}

/*
 * Takes a target: path and query in origin-form (§3.2.1), or an absolute URI, which every server must accept
 * (§3.2.2). Returns 0 or the status of the error.
 */
static unsigned take_target(struct request *request, const char *data, const char *target, size_t length)
{
    static const char scheme[] = "http://";
    const size_t scheme_length = sizeof(scheme) - 1;

    if (length == 0 || characters_span(target, length, CHARACTER_TARGET) != length)
        return HTTP_BAD_REQUEST;
    if (*target != '/' && length > scheme_length && strncasecmp(target, scheme, scheme_length) == 0) {
        size_t end = scheme_length;

        while (end < length && target[end] != '/' && target[end] != '?')
            end++;
        /* Without a host it is invalid, with a port too (9110:4.2.1). */
        if (end == scheme_length || target[scheme_length] == ':' ||
            !is_authority(target + scheme_length, end - scheme_length))
            return HTTP_BAD_REQUEST;
        target += end;
        length -= end;
    } else if (target[0] != '/') {
        return HTTP_BAD_REQUEST;
    }
    request->target_offset = (uint32_t)(target - data);
    request->target_length = (uint32_t)length;
    return 0;
}

#define VERSION_LENGTH (sizeof("HTTP/1.1") - 1)

/* §2.3. Returns 0 or the status of the error. */
static unsigned take_version(struct request *request, const char text[VERSION_LENGTH])
{
    if (memcmp(text, "HTTP/", 5) != 0 || text[6] != '.' ||
        !(CHARACTER_CLASSES[(unsigned char)text[5]] & CHARACTER_DIGIT) ||
        !(CHARACTER_CLASSES[(unsigned char)text[7]] & CHARACTER_DIGIT))
        return HTTP_BAD_REQUEST;
    if (text[5] != '1')
        return HTTP_HTTP_VERSION_NOT_SUPPORTED;
    request->minor_version = text[7] == '0' ? 0 : 1;
    return 0;
}

/* 9110:9.1: a method that is known but not allowed here gets 405, an unknown one 501. */
static unsigned take_method(struct request *request, const char *method, size_t length)
{
    static const char *const refused[] = {"POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"};

    request->method = METHOD_OTHER;
    if (length == 3 && memcmp(method, "GET", 3) == 0) {
        request->method = METHOD_GET;
        return 0;
    }
    if (length == 4 && memcmp(method, "HEAD", 4) == 0) {
        request->method = METHOD_HEAD;
        return 0;
    }
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        if (length == strlen(refused[i]) && memcmp(method, refused[i], length) == 0)
            return HTTP_METHOD_NOT_ALLOWED;
    }
    return HTTP_NOT_IMPLEMENTED;
}

/* §3. What stands between method and version is the target, which may hold no space. Returns true when the
 * request ends here with an error. */
static bool take_request_line(struct request *request, const char *data, const char *line, size_t length)
{
    const size_t method_length = characters_span(line, length, CHARACTER_TOKEN);
    const char *target, *target_end;
    unsigned status, method_status;

    if (method_length == 0 || method_length + 2 + VERSION_LENGTH > length)
        return fail(request, HTTP_BAD_REQUEST);
    target = line + method_length + 1;
    target_end = line + length - VERSION_LENGTH - 1;
    if (target[-1] != ' ' || *target_end != ' ')
        return fail(request, HTTP_BAD_REQUEST);
    status = take_version(request, target_end + 1);
    if (status != 0)
        return fail(request, status);
    method_status = take_method(request, line, method_length);
    request->status = (uint16_t)method_status;
    /* The forms that only CONNECT and OPTIONS may use (§3.2.3, §3.2.4) do not matter: both are refused. */
    status = method_status ? 0 : take_target(request, data, target, (size_t)(target_end - target));
    return status != 0 && fail(request, status);
}

/* 9110:7.6.1: a list of tokens. */
static void take_connection(struct request *request, const char *value, size_t length)
{
    const char *end = value + length;

    while (value < end) {
        const char *comma = memchr(value, ',', (size_t)(end - value));
        const char *token_end = comma ? comma : end;
        size_t token_length;

        while (value < token_end && (*value == ' ' || *value == '\t'))
            value++;
        token_length = characters_span(value, (size_t)(token_end - value), CHARACTER_TOKEN);
        request->wants_close |= text_equals(value, token_length, "close");
        request->wants_keep_alive |= text_equals(value, token_length, "keep-alive");
        value = token_end + 1;
    }
}

/* §6.1: chunked is understood; any other coding is unknown; and when the last one is not chunked, the length
 * of the body cannot be known. */
static unsigned take_transfer_encoding(struct request *request, const char *value, size_t length)
{
    static const char chunked[] = "chunked";
    const size_t chunked_length = sizeof(chunked) - 1;
    const bool ends_chunked =
        length >= chunked_length && text_equals(value + length - chunked_length, chunked_length, chunked);

    if (request->transfer_encoding_seen || request->content_length_seen || request->minor_version == 0 ||
        !ends_chunked)
        return HTTP_BAD_REQUEST;
    request->transfer_encoding_seen = true;
    request->has_body = true;
    return length == chunked_length ? 0 : HTTP_NOT_IMPLEMENTED;
}

/* §6.2. A second one is refused even if it repeats the first (9110:8.6 allows either). */
static unsigned take_content_length(struct request *request, const char *value, size_t length)
{
    if (request->content_length_seen || request->transfer_encoding_seen || length == 0 ||
        characters_span(value, length, CHARACTER_DIGIT) != length)
        return HTTP_BAD_REQUEST;
    request->content_length_seen = true;
    for (size_t i = 0; i < length && request->content_length <= BODY_BYTES_MAX; i++)
        request->content_length = request->content_length * 10 + (uint64_t)(value[i] - '0');
    request->has_body = request->content_length > 0;
    return 0;
}

static unsigned take_host(struct request *request, const char *value, size_t length)
{
    if (request->host_seen || !is_authority(value, length))
        return HTTP_BAD_REQUEST;
    request->host_seen = true;
    return 0;
}

/* 9110:10.1.1. From a client of HTTP/1.0 it means nothing. */
static unsigned take_expectation(struct request *request, const char *value, size_t length)
{
    if (!text_equals(value, length, "100-continue"))
        return HTTP_EXPECTATION_FAILED;
    request->expects_continue = request->minor_version > 0;
    return 0;
}

/* The headers that are looked at while the head is parsed. */
enum field {
    FIELD_OTHER,
    FIELD_HOST,
    FIELD_CONNECTION,
    FIELD_CONTENT_LENGTH,
    FIELD_TRANSFER_ENCODING,
    FIELD_EXPECT,
    FIELD_CONDITION, /* of 9110:13.1 and 9110:14.2 */
};

/* Returns eight or four characters, with letters in the case of `expected` ones. */
static inline uint64_t eight_of(const char *text)
{
    uint64_t characters;

    memcpy(&characters, text, sizeof(characters));
    return characters | UINT64_C(0x2020202020202020);
}

static inline uint64_t four_of(const char *text)
{
    uint32_t characters;

    memcpy(&characters, text, sizeof(characters));
    return characters | UINT32_C(0x20202020);
}

/* Says whether a name is `expected`, of the same length (from 4 to 24), in any case of letters. It is
 * compared by words, the last of which overlaps the one before. Both are tokens, in which bit 5 only tells
 * the cases of a letter, or `^` from `~`, which no expected name has. */
static inline bool is_named(const char *name, const char *expected, size_t length)
{
    uint64_t differing;

    if (length < 8)
        return ((four_of(name) ^ four_of(expected)) |
                (four_of(name + length - 4) ^ four_of(expected + length - 4))) == 0;
    differing = (eight_of(name) ^ eight_of(expected)) |
                (eight_of(name + length - 8) ^ eight_of(expected + length - 8));
    if (length > 16)
        differing |= eight_of(name + 8) ^ eight_of(expected + 8);
    return differing == 0;
}

/* Tells which header a name is of. Most are none of these, which their lengths and first letters tell. */
static enum field field_of(const char *name, size_t length)
{
#define IS(expected) (is_named(name, expected, sizeof(expected) - 1))
    switch (length) {
    case sizeof("Host") - 1:
        return IS("Host") ? FIELD_HOST : FIELD_OTHER;
    case sizeof("Range") - 1:
        return IS("Range") ? FIELD_CONDITION : FIELD_OTHER;
    case sizeof("Expect") - 1:
        return IS("Expect") ? FIELD_EXPECT : FIELD_OTHER;
    case sizeof("If-Match") - 1:
        return IS("If-Match") || IS("If-Range") ? FIELD_CONDITION : FIELD_OTHER;
    case sizeof("Connection") - 1:
        return IS("Connection") ? FIELD_CONNECTION : FIELD_OTHER;
    case sizeof("If-None-Match") - 1:
        return IS("If-None-Match") ? FIELD_CONDITION : FIELD_OTHER;
    case sizeof("Content-Length") - 1:
        return IS("Content-Length") ? FIELD_CONTENT_LENGTH : FIELD_OTHER;
    case sizeof("Transfer-Encoding") - 1:
        return IS("Transfer-Encoding")   ? FIELD_TRANSFER_ENCODING
               : IS("If-Modified-Since") ? FIELD_CONDITION
                                         : FIELD_OTHER;
    case sizeof("If-Unmodified-Since") - 1:
        return IS("If-Unmodified-Since") ? FIELD_CONDITION : FIELD_OTHER;
    default:
        return FIELD_OTHER;
    }
#undef IS
}

/* §5. Returns true when the request ends here with an error. */
static bool take_header(struct request *request, const char *line, size_t length)
{
    const size_t name_length = characters_token_span(line, length);
    const char *value = line + name_length + 1;
    size_t value_length = length - name_length - 1;
    enum field field;
    unsigned status = 0;

    /* A line that begins with white space (obs-fold, §5.2) has no name either. */
    if (name_length == 0 || name_length == length || line[name_length] != ':')
        return fail(request, HTTP_BAD_REQUEST);
    if (++request->header_count > REQUEST_HEADER_COUNT_MAX)
        return fail(request, HTTP_HEADER_FIELDS_TOO_LARGE);
    field = field_of(line, name_length);
    if (field == FIELD_OTHER)
        return false;
    value = text_trim(value, &value_length);

    switch (field) {
    case FIELD_HOST:
        status = take_host(request, value, value_length);
        break;
    case FIELD_CONNECTION:
        take_connection(request, value, value_length);
        break;
    case FIELD_CONTENT_LENGTH:
        status = take_content_length(request, value, value_length);
        break;
    case FIELD_TRANSFER_ENCODING:
        status = take_transfer_encoding(request, value, value_length);
        break;
    case FIELD_EXPECT:
        status = take_expectation(request, value, value_length);
        break;
    case FIELD_CONDITION:
        request->conditional = true;
        break;
    case FIELD_OTHER:
        break;
    }
    return status != 0 && fail(request, status);
}

/* What follows a sound head with a body. Returns true when the body is not read. */
static bool begin_body(struct request *request)
{
    if (request->status != 0)
        return fail(request, request->status);
    if (request->content_length > BODY_BYTES_MAX)
        return fail(request, HTTP_CONTENT_TOO_LARGE);
    if (request->expects_continue) { /* a final reply instead (9110:10.1.1); the body may come all the same */
        request->keep_alive = false;
        request->more_comes = true;
        return true;
    }
    if (request->transfer_encoding_seen)
        body_begin_chunked(&request->body);
    else
        body_begin(&request->body, (uint32_t)request->content_length);
    request->line_kind = LINES_END;
    return false;
}

/* The empty line behind the headers. Ends the request unless it has a body to be read. */
static bool finish(struct request *request)
{
    if (!request->host_seen && request->minor_version > 0)
        return fail(request, HTTP_BAD_REQUEST); /* §3.2 */
    request->head_length = request->parsed;
    request->keep_alive =
        !request->wants_close && (request->minor_version > 0 || request->wants_keep_alive); /* §9.3 */
    return !request->has_body || begin_body(request);
}

/* Reads over the body. Returns true when the request ends with it. */
static bool take_body(struct request *request, const char *data, size_t length)
{
    size_t used;
    const enum body_outcome outcome =
        body_skip(&request->body, data + request->parsed, length - request->parsed, &used);

    request->parsed += (uint32_t)used;
    if (outcome == BODY_BROKEN)
        return fail(request, HTTP_BAD_REQUEST);
    if (outcome == BODY_TOO_LARGE)
        return fail(request, HTTP_CONTENT_TOO_LARGE);
    return outcome == BODY_COMPLETE;
}

size_t request_keep(struct request *request, size_t length)
{
    if (request->line_kind != LINES_END || request->complete)
        return length;
    request->parsed = request->head_length;
    return request->head_length;
}

/* Takes one line without its CR LF. Returns true when the request ends with it. */
static bool take_line(struct request *request, const char *data, const char *line, size_t length)
{
    if (request->line_kind == LINE_HEADER)
        return length == 0 ? finish(request) : take_header(request, line, length);
    if (request->line_kind == LINE_FIRST && length == 0) {
        request->line_kind = LINE_REQUEST;
        return false;
    }
    request->line_kind = LINE_HEADER;
    return take_request_line(request, data, line, length);
}

/* Says whether a line of which `length` bytes (without LF) are there is too long; if so, fails the request.
 */
static bool exceeds_limit(struct request *request, size_t length)
{
    if (request->line_kind == LINE_HEADER)
        return request->header_bytes + length + 1 > REQUEST_HEADERS_MAX &&
               fail(request, HTTP_HEADER_FIELDS_TOO_LARGE);
    return length > REQUEST_LINE_MAX + 1 && fail(request, HTTP_URI_TOO_LONG);
}

/* Goes on as far as the bytes reach. Returns true when the request ends. Every byte of a line is one that a
 * value may hold (what a name or a target may hold besides that is looked at later), so the first other one
 * ends the line, or spoils it. */
static bool go_on(struct request *request, const char *data, size_t length)
{
    while (request->parsed < length) {
        const char *line = data + request->parsed;
        size_t end, line_length;

        if (request->line_kind == LINES_END)
            return take_body(request, data, length);
        /* Whoever speaks another protocol, such as TLS, is told so at once and not after a timeout. */
        if (request->line_kind != LINE_HEADER && *line != '\r' &&
            !(CHARACTER_CLASSES[(unsigned char)*line] & CHARACTER_TOKEN))
            return fail(request, HTTP_BAD_REQUEST);
        end = characters_value_end(data, request->scanned, length);
        line_length = end - request->parsed;
        if (exceeds_limit(request, line_length + (end < length)))
            return true;
        if (end + 1 >= length) {
            request->scanned = (uint32_t)end;
            return end < length && data[end] != '\r' && fail(request, HTTP_BAD_REQUEST);
        }
        if (memcmp(data + end, "\r\n", 2) != 0)
            return fail(request, HTTP_BAD_REQUEST); /* also for a bare LF; §2.2 lets us refuse it */
        if (request->line_kind == LINE_HEADER)
            request->header_bytes += (uint32_t)line_length + 2;
        request->parsed = request->scanned = (uint32_t)end + 2;
        if (take_line(request, data, line, line_length))
            return true;
    }
    return false;
}

bool request_parse(struct request *request, const char *data, size_t length)
{
    request->complete = request->complete || go_on(request, data, length);
    return request->complete;
}

bool request_find_header(const struct request *request, const char *data, const char *name,
                         struct header *header)
{
    const size_t name_length = strlen(name);

    if (header->next == 0) /* behind the request line and the empty line that may stand before it */
        header->next = request->target_offset;
    for (;;) {
        const char *line = memchr(data + header->next, '\n', request->head_length - header->next);
        const char *end;

        if (!line)
            return false;
        header->next = (uint32_t)(++line - data);
        end = memchr(line, '\r', request->head_length - header->next);
        if (!end)
            return false;
        if ((size_t)(end - line) > name_length && line[name_length] == ':' &&
            strncasecmp(line, name, name_length) == 0) {
            header->value_length = (size_t)(end - line) - name_length - 1;
            header->value = text_trim(line + name_length + 1, &header->value_length);
            return true;
        }
    }
}
