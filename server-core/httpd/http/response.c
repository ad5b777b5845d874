/*
 * See response.h.
 */
#include "httpd/http/response.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SERVER_LINE "Server: trimtab-httpd\r\n"

void http_date_update(struct http_date *date, time_t second)
{
    static const char days[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct tm utc;
    char text[64]; /* room for years that will not come, or the compiler warns */

    if (date->second == second && date->text[0])
        return;
    gmtime_r(&second, &utc);
    snprintf(text, sizeof(text), "%s, %02d %s %04d %02d:%02d:%02d GMT", days[utc.tm_wday], utc.tm_mday,
             months[utc.tm_mon], utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
    memcpy(date->text, text, HTTP_DATE_LENGTH);
    date->text[HTTP_DATE_LENGTH] = '\0';
    date->second = second;
}

size_t response_file_head(char head[RESPONSE_HEAD_MAX], const char *type, uint64_t size, size_t *date_offset)
{
    static const char start[] = "HTTP/1.1 200 OK\r\n" SERVER_LINE "Date: ";

    *date_offset = sizeof(start) - 1;
    return (size_t)snprintf(head, RESPONSE_HEAD_MAX,
                            "%s%*s\r\nContent-Type: %s\r\nContent-Length: %" PRIu64 "\r\n\r\n", start,
                            HTTP_DATE_LENGTH, "", type, size);
}

const char *response_connection_header(bool keep_alive, int minor_version)
{
    if (!keep_alive)
        return "Connection: close\r\n";
    return minor_version == 0 ? "Connection: keep-alive\r\n" : "";
}

const char *response_reason(enum http_status status)
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

size_t response_error(char reply[ERROR_REPLY_MAX], enum http_status status, const struct http_date *date,
                      const char *location, const char *connection_header, bool head_only)
{
    const char *reason = response_reason(status);
    const size_t body_length = strlen("NNN \n") + strlen(reason);
    size_t length;

    length = (size_t)snprintf(reply, ERROR_REPLY_MAX,
                              "HTTP/1.1 %d %s\r\n" SERVER_LINE "Date: %s\r\nContent-Type: text/plain\r\n"
                              "Content-Length: %zu\r\n%s%s%s%s%s\r\n",
                              (int)status, reason, date->text, body_length, connection_header,
                              location ? "Location: " : "", location ? location : "", location ? "\r\n" : "",
                              /* RFC 9110 §15.5.6 demands it */
                              status == HTTP_METHOD_NOT_ALLOWED ? "Allow: GET, HEAD\r\n" : "");
    if (!head_only)
        length += (size_t)snprintf(reply + length, ERROR_REPLY_MAX - length, "%d %s\n", (int)status, reason);
    return length;
}
