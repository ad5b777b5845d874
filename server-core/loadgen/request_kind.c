/*
 * See request_kind.h.
 */
#include "request_kind.h"

#include "content.h"
#include "memory.h"

#include <string.h>

static const char *const method_names[] = {
    [METHOD_GET] = "GET",
    [METHOD_HEAD] = "HEAD",
    [METHOD_POST] = "POST",
};

const char *method_name(enum method method)
{
    return method_names[method];
}

/* Takes what asprintf(3) has returned. */
static uint32_t text_made(int length)
{
    if (length < 0)
        memory_needed(NULL);
    return (uint32_t)length;
}

struct request_kind request_kind_make(const struct request_form *form, enum method method, const char *uri,
                                      const char *contents, uint64_t size)
{
    struct request_kind kind = {
        .method = method, .size = size, .rows = ROWS_UNKNOWN, .content_key = content_key(uri)};
    /* What is not the default of the version has to be said (RFC 9112 §9.3). */
    const char *connection = form->close == form->http_1_0 ? ""
                             : form->close                 ? "Connection: close\r\n"
                                                           : "Connection: keep-alive\r\n";
    char length[64] = "";

    if (form->http_2) {
        kind.path_length = (uint32_t)strlen(uri);
        kind.text_length = text_made(asprintf(&kind.text, "%s%s", uri, contents == NULL ? "" : contents));
        return kind;
    }
    if (method == METHOD_POST)
        snprintf(length, sizeof(length), "Content-Length: %zu\r\n", contents == NULL ? 0 : strlen(contents));
    kind.text_length = text_made(
        asprintf(&kind.text, "%s %s HTTP/1.%c\r\nHost: %s\r\nUser-Agent: trimtab-load/%s\r\n%s%s\r\n%s",
                 method_name(method), uri, form->http_1_0 ? '0' : '1', form->authority, TRIMTAB_VERSION,
                 connection, length, contents == NULL ? "" : contents));
    return kind;
}

struct request_kind request_kind_make_sql(const char *statements, uint64_t size, uint64_t rows)
{
    const size_t head_bytes = 5; /* length, number, and the command that a query follows */
    struct request_kind kind = {.method = METHOD_POST, .size = size, .rows = rows};

    for (size_t length; *statements != '\0'; statements += length) {
        statements += strspn(statements, "; \t");
        length = strcspn(statements, ";");
        if (length == 0)
            continue;
        kind.text = memory_needed(realloc(kind.text, kind.text_length + head_bytes + length));
        const char head[] = {(char)((length + 1) & 0xff), (char)((length + 1) >> 8 & 0xff),
                             (char)((length + 1) >> 16 & 0xff), 0, 3};
        memcpy(kind.text + kind.text_length, head, head_bytes);
        memcpy(kind.text + kind.text_length + head_bytes, statements, length);
        kind.text_length += (uint32_t)(head_bytes + length);
    }
    return kind;
}

void request_kind_learn(struct request_kind *kind, const struct reply_head *head)
{
    bool tagged = head->etag.length > 0;
    struct reply_text value = tagged ? head->etag : head->last_modified;

    if (value.length == 0)
        return;
    kind->learnt_size = head->content_length == REPLY_LENGTH_UNKNOWN ? 0 : head->content_length;
    kind->by_tag = tagged;
    if (kind->path_length > 0) {
        kind->conditional_text = memory_needed(strndup(value.start, value.length));
        kind->conditional_length = (uint32_t)value.length;
        return;
    }
    /* The new field goes before the empty line. */
    kind->conditional_length = text_made(
        asprintf(&kind->conditional_text, "%.*s%s: %.*s\r\n\r\n", (int)kind->text_length - 2, kind->text,
                 tagged ? "If-None-Match" : "If-Modified-Since", (int)value.length, value.start));
}

void request_kind_free(struct request_kind *kind)
{
    free(kind->text);
    free(kind->conditional_text);
}
