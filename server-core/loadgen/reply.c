/*
 * See reply.h.
 */
#include "reply.h"

#include "common/field_characters.h"

#include <string.h>
#include <strings.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool all(struct reply_text text, bool (*test)(char))
{
    for (size_t i = 0; i < text.length; i++)
        if (!test(text.start[i]))
            return false;
    return true;
}

static bool equals(struct reply_text text, const char *word)
{
    return text.length == strlen(word) && strncasecmp(text.start, word, text.length) == 0;
}

static struct reply_text trim(struct reply_text text)
{
    while (text.length > 0 && (*text.start == ' ' || *text.start == '\t')) {
        text.start++;
        text.length--;
    }
    while (text.length > 0 && (text.start[text.length - 1] == ' ' || text.start[text.length - 1] == '\t'))
        text.length--;
    return text;
}

/* Takes the text up to `separator`, or all of it, off the front of *rest. */
static struct reply_text split(struct reply_text *rest, char separator)
{
    const char *end = memchr(rest->start, separator, rest->length);
    struct reply_text part = {rest->start, end == NULL ? rest->length : (size_t)(end - rest->start)};
    size_t taken = part.length + (end == NULL ? 0 : 1);

    rest->start += taken;
    rest->length -= taken;
    return part;
}

/* Takes a line, without its CR LF, off the front of *rest. Returns false when it does not end with both; a CR
 * elsewhere fails the tests of the characters. */
static bool split_line(struct reply_text *rest, struct reply_text *line)
{
    *line = split(rest, '\n');
    if (line->length == 0 || line->start[line->length - 1] != '\r')
        return false;
    line->length--;
    return true;
}

/* "HTTP/1.1 200 OK": *minor becomes the minor version. */
static bool parse_status_line(struct reply_text line, unsigned *status, unsigned *minor)
{
    const char *c = line.start;

    if (line.length < 12 || memcmp(c, "HTTP/1.", 7) != 0 || !is_digit(c[7]) || c[8] != ' ' ||
        !is_digit(c[9]) || !is_digit(c[10]) || !is_digit(c[11]) || (line.length > 12 && c[12] != ' ') ||
        !all(line, field_value_character))
        return false;
    *minor = (unsigned)(c[7] - '0');
    *status = (unsigned)((c[9] - '0') * 100 + (c[10] - '0') * 10 + (c[11] - '0'));
    return *status >= 100;
}

static bool parse_length(struct reply_text value, uint64_t *length)
{
    if (value.length == 0 || value.length > 18 || !all(value, is_digit))
        return false;
    *length = 0;
    for (size_t i = 0; i < value.length; i++)
        *length = *length * 10 + (uint64_t)(value.start[i] - '0');
    return true;
}

/* Looks for the options that end or keep the connection in a Connection field (RFC 9112 §9.3). */
static void parse_connection(struct reply_text value, bool *close, bool *keep_alive)
{
    while (value.length > 0) {
        struct reply_text option = trim(split(&value, ','));
        *close = *close || equals(option, "close");
        *keep_alive = *keep_alive || equals(option, "keep-alive");
    }
}

/* Counts the codings of a Transfer-Encoding field; *chunked says whether the last one is chunked. */
static void parse_codings(struct reply_text value, unsigned *codings, bool *chunked)
{
    while (value.length > 0) {
        struct reply_text coding = trim(split(&value, ','));
        if (coding.length == 0)
            continue;
        ++*codings;
        *chunked = equals(coding, "chunked");
    }
}

enum reply_parse reply_parse_head(const char *data, size_t length, bool to_head, struct reply_head *head)
{
    const char *const protocol = "HTTP/1.";
    const char *end = memmem(data, length, "\r\n\r\n", 4);
    size_t comparable = length < strlen(protocol) ? length : strlen(protocol);

    /* Looked at before the end has come: what does not begin like a reply may never end like one. */
    if (memcmp(data, protocol, comparable) != 0)
        return REPLY_MALFORMED;
    if (end == NULL)
        return REPLY_INCOMPLETE;

    *head =
        (struct reply_head){.head_bytes = (size_t)(end - data) + 4, .content_length = REPLY_LENGTH_UNKNOWN};
    struct reply_text rest = {data, head->head_bytes - 2};
    struct reply_text line;
    unsigned minor;
    unsigned codings = 0;
    bool encoded = false, chunked = false, close = false, keep_alive = false;

    if (!split_line(&rest, &line) || !parse_status_line(line, &head->status, &minor))
        return REPLY_MALFORMED;
    while (rest.length > 0) {
        if (!split_line(&rest, &line))
            return REPLY_MALFORMED;
        struct reply_text name = split(&line, ':');
        bool colon = line.start != name.start + name.length;
        if (!colon || name.length == 0 || !all(name, field_name_character) ||
            !all(line, field_value_character))
            return REPLY_MALFORMED;
        if (equals(name, "Content-Length")) {
            uint64_t announced;
            if (!parse_length(trim(line), &announced) ||
                (head->content_length != REPLY_LENGTH_UNKNOWN && announced != head->content_length))
                return REPLY_MALFORMED;
            head->content_length = announced;
        } else if (equals(name, "Transfer-Encoding")) {
            encoded = true;
            parse_codings(line, &codings, &chunked);
        } else if (equals(name, "Connection")) {
            parse_connection(line, &close, &keep_alive);
        } else if (equals(name, "ETag")) {
            head->etag = trim(line);
        } else if (equals(name, "Last-Modified")) {
            head->last_modified = trim(line);
        }
    }
    head->connection_close = close || (minor == 0 && !keep_alive);
    /* RFC 9112 §6.3: these never have a body. */
    if (to_head || head->status < 200 || head->status == 204 || head->status == 304)
        return REPLY_PARSED;
    if (encoded) {
        /* Who says both, or says it in a version that has no codings, may mean another end than is seen here
         * (§6.1, §11.2). */
        if (head->content_length != REPLY_LENGTH_UNKNOWN || minor == 0)
            return REPLY_MALFORMED;
        head->end = REPLY_ENDS_BY_CHUNKS;
        return codings == 1 && chunked ? REPLY_PARSED : REPLY_TRANSFER_ENCODING;
    }
    if (head->content_length == REPLY_LENGTH_UNKNOWN) {
        head->end = REPLY_ENDS_BY_CLOSE;
        head->connection_close = true;
        head->body_bytes = REPLY_BODY_ENDLESS;
        return REPLY_PARSED;
    }
    head->body_bytes = head->content_length;
    return REPLY_PARSED;
}
