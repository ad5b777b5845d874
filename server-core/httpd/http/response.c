/*
 * See response.h.
 */
#include "httpd/http/response.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SERVER_LINE "Server: trimtab-httpd\r\n"

static const char *reason_of(enum http_status status)
{
    switch (status) {
#define HTTP_STATUS_REASON(code, name, reason)                                                               \
    case HTTP_##name:                                                                                        \
        return reason;
        HTTP_STATUSES(HTTP_STATUS_REASON)
#undef HTTP_STATUS_REASON
    }
    return "";
}

size_t response_file_head(char head[RESPONSE_HEAD_MAX], const struct file_response *response,
                          size_t *date_offset)
{
    struct http_date modified = {0};
    size_t length;

    length = (size_t)snprintf(head, RESPONSE_HEAD_MAX,
                              "HTTP/1.1 %d %s\r\n" SERVER_LINE "Date: ", (int)response->status,
                              reason_of(response->status));
    *date_offset = length;
    length += (size_t)snprintf(head + length, RESPONSE_HEAD_MAX - length, "%*.*s\r\n", HTTP_DATE_LENGTH,
                               HTTP_DATE_LENGTH, response->date ? response->date : "");
    if (response->type) {
        http_date_update(&modified, response->validators->modified < response->now
                                        ? response->validators->modified
                                        : response->now);
        length += (size_t)snprintf(head + length, RESPONSE_HEAD_MAX - length,
                                   "Content-Type: %s\r\nContent-Length: %" PRIu64
                                   "\r\nLast-Modified: %s\r\nAccept-Ranges: bytes\r\n",
                                   response->type, response->length, modified.text);
    }
    return length + (size_t)snprintf(head + length, RESPONSE_HEAD_MAX - length, "ETag: %s\r\n%s\r\n",
                                     response->validators->etag, response->more);
}

const char *response_connection_header(bool keep_alive, int minor_version)
{
    if (!keep_alive)
        return "Connection: close\r\n";
    return minor_version == 0 ? "Connection: keep-alive\r\n" : "";
}

size_t response_error(char reply[ERROR_REPLY_MAX], enum http_status status, const struct http_date *date,
                      const char *more, const char *connection_header, bool head_only)
{
    const char *reason = reason_of(status);
    const size_t body_length = strlen("NNN \n") + strlen(reason);
    size_t length;

    length = (size_t)snprintf(reply, ERROR_REPLY_MAX,
                              "HTTP/1.1 %d %s\r\n" SERVER_LINE "Date: %s\r\nContent-Type: text/plain\r\n"
                              "Content-Length: %zu\r\n%s%s%s\r\n",
                              (int)status, reason, date->text, body_length, connection_header, more,
                              /* RFC 9110 §15.5.6 demands it */
                              status == HTTP_METHOD_NOT_ALLOWED ? "Allow: GET, HEAD\r\n" : "");
    if (!head_only)
        length += (size_t)snprintf(reply + length, ERROR_REPLY_MAX - length, "%d %s\n", (int)status, reason);
    return length;
}
