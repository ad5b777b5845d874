/*
 * The status codes that this server sends, once: reason phrases, error pages and the `replies_NNN` counters
 * derive from this table (RFC 9110 §15).
 */
#ifndef TRIMTAB_HTTPD_HTTP_STATUS_H
#define TRIMTAB_HTTPD_HTTP_STATUS_H

#define HTTP_STATUSES(X)                                                                                     \
    X(200, OK, "OK")                                                                                         \
    X(206, PARTIAL_CONTENT, "Partial Content")                                                               \
    X(301, MOVED_PERMANENTLY, "Moved Permanently")                                                           \
    X(304, NOT_MODIFIED, "Not Modified")                                                                     \
    X(400, BAD_REQUEST, "Bad Request")                                                                       \
    X(403, FORBIDDEN, "Forbidden")                                                                           \
    X(404, NOT_FOUND, "Not Found")                                                                           \
    X(405, METHOD_NOT_ALLOWED, "Method Not Allowed")                                                         \
    X(408, REQUEST_TIMEOUT, "Request Timeout")                                                               \
    X(412, PRECONDITION_FAILED, "Precondition Failed")                                                       \
    X(413, CONTENT_TOO_LARGE, "Content Too Large")                                                           \
    X(414, URI_TOO_LONG, "URI Too Long")                                                                     \
    X(416, RANGE_NOT_SATISFIABLE, "Range Not Satisfiable")                                                   \
    X(417, EXPECTATION_FAILED, "Expectation Failed")                                                         \
    X(431, HEADER_FIELDS_TOO_LARGE, "Request Header Fields Too Large")                                       \
    X(500, INTERNAL_SERVER_ERROR, "Internal Server Error")                                                   \
    X(501, NOT_IMPLEMENTED, "Not Implemented")                                                               \
    X(503, SERVICE_UNAVAILABLE, "Service Unavailable")                                                       \
    X(505, HTTP_VERSION_NOT_SUPPORTED, "HTTP Version Not Supported")

enum http_status {
#define HTTP_STATUS_NAME(code, name, reason) HTTP_##name = code,
    HTTP_STATUSES(HTTP_STATUS_NAME)
#undef HTTP_STATUS_NAME
};

#endif
