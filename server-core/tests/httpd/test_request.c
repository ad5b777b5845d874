/*
 * Raw requests and what the parser says of them. Each vector is parsed in one piece and again cut in two at
 * each of its bytes and byte by byte: the outcome must always be the same.
 */
#include "httpd/http/request.h"
#include "tests/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST "Host: a\r\n"
#define GET  "GET / HTTP/1.1\r\n"

#define CHUNKED GET HOST "Transfer-Encoding: chunked\r\n\r\n"

struct vector {
    const char *what;
    const char *head;
    unsigned status; /* 0: served; INCOMPLETE: more is needed */
    bool keep_alive;
    const char *target; /* NULL: not looked at */
};

#define INCOMPLETE 1

static const struct vector VECTORS[] = {
    {"plain", GET HOST "\r\n", 0, true, "/"},
    {"query", "GET /a?b=c%zz HTTP/1.1\r\n" HOST "\r\n", 0, true, "/a?b=c%zz"},
    {"head", "HEAD /x HTTP/1.1\r\n" HOST "\r\n", 0, true, "/x"},
    {"empty line before it", "\r\n" GET HOST "\r\n", 0, true, "/"},
    {"two empty lines before it", "\r\n\r\n" GET HOST "\r\n", 400, false, NULL},
    {"what browsers leave unescaped", "GET /a|b[c]^{d}` HTTP/1.1\r\n" HOST "\r\n", 0, true, "/a|b[c]^{d}`"},
    {"header without value", GET HOST "X:\r\n\r\n", 0, true, "/"},
    {"tab round a value", GET HOST "X:\t a \t\r\n\r\n", 0, true, "/"},
    {"bytes above 127 in a value", GET HOST "X: \xE4\r\n\r\n", 0, true, "/"},
    {"headers in any case", GET "hOST: a\r\nCONNECTION: CLOSE\r\n\r\n", 0, false, "/"},

    {"not complete", GET HOST, INCOMPLETE, false, NULL},
    {"nothing", "", INCOMPLETE, false, NULL},
    {"last line feed missing", GET HOST "\r", INCOMPLETE, false, NULL},

    {"close", GET HOST "Connection: close\r\n\r\n", 0, false, "/"},
    {"close in a list", GET HOST "Connection: x , close\r\n\r\n", 0, false, "/"},
    {"close in a second header", GET HOST "Connection: x\r\nConnection: close\r\n\r\n", 0, false, "/"},
    {"closed is not close", GET HOST "Connection: closed\r\n\r\n", 0, true, "/"},
    {"1.0 closes", "GET / HTTP/1.0\r\n\r\n", 0, false, "/"},
    {"1.0 keep-alive", "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", 0, true, "/"},
    {"1.0 close wins", "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", 0, false, "/"},
    {"1.2 is like 1.1", "GET / HTTP/1.2\r\n" HOST "\r\n", 0, true, "/"},

    {"absolute target", "GET http://b/c?d HTTP/1.1\r\n" HOST "\r\n", 0, true, "/c?d"},
    {"absolute target with port, no path", "GET HTTP://b:8080 HTTP/1.1\r\n" HOST "\r\n", 0, true, ""},
    {"absolute target, query only", "GET http://b?c HTTP/1.1\r\n" HOST "\r\n", 0, true, "?c"},
    {"absolute target without host", "GET http:///c HTTP/1.1\r\n" HOST "\r\n", 400, false, NULL},
    {"absolute target with user", "GET http://u@b/c HTTP/1.1\r\n" HOST "\r\n", 400, false, NULL},
    {"absolute target with a port alone", "GET http://:80/ HTTP/1.1\r\n" HOST "\r\n", 400, false, NULL},
    {"absolute target with an escape", "GET http://%c3%A4.b/c HTTP/1.1\r\n" HOST "\r\n", 0, true, "/c"},
    {"absolute target with a bad escape", "GET http://b%zz/ HTTP/1.1\r\n" HOST "\r\n", 400, false, NULL},
    {"another scheme", "GET ftp://b/c HTTP/1.1\r\n" HOST "\r\n", 400, false, NULL},
    {"asterisk", "GET * HTTP/1.1\r\n" HOST "\r\n", 400, false, NULL},
    {"authority target", "GET a:80 HTTP/1.1\r\n" HOST "\r\n", 400, false, NULL},
    {"relative target", "GET a HTTP/1.1\r\n" HOST "\r\n", 400, false, NULL},
    {"fragment", "GET /a#b HTTP/1.1\r\n" HOST "\r\n", 400, false, NULL},
    {"byte above 127 in the target", "GET /\xE4 HTTP/1.1\r\n" HOST "\r\n", 400, false, NULL},
    {"control in the target", "GET /\x01 HTTP/1.1\r\n" HOST "\r\n", 400, false, NULL},
    {"quote in the target", "GET /\" HTTP/1.1\r\n" HOST "\r\n", 400, false, NULL},

    {"two spaces", "GET  / HTTP/1.1\r\n" HOST "\r\n", 400, false, NULL},
    {"tab for space", "GET\t/ HTTP/1.1\r\n" HOST "\r\n", 400, false, NULL},
    {"space in the target", "GET /a b HTTP/1.1\r\n" HOST "\r\n", 400, false, NULL},
    {"space at the end", "GET / HTTP/1.1 \r\n" HOST "\r\n", 400, false, NULL},
    {"space before the method", " GET / HTTP/1.1\r\n" HOST "\r\n", 400, false, NULL},
    {"no version", "GET /\r\n\r\n", 400, false, NULL},
    {"method alone", "GET\r\n\r\n", 400, false, NULL},
    {"version in small letters", "GET / http/1.1\r\n" HOST "\r\n", 400, false, NULL},
    {"version with two digits", "GET / HTTP/1.10\r\n" HOST "\r\n", 400, false, NULL},
    {"TLS", "\x16\x03\x01\x02", 400, false, NULL},
    {"2.0", "GET / HTTP/2.0\r\n" HOST "\r\n", 505, false, NULL},
    {"0.9", "GET / HTTP/0.9\r\n\r\n", 505, false, NULL},

    {"bare LF behind the request line", "GET / HTTP/1.1\n" HOST "\r\n", 400, false, NULL},
    {"bare LF behind a header", GET "Host: a\n\r\n", 400, false, NULL},
    {"bare LF for the empty line", GET HOST "\n", 400, false, NULL},
    {"bare LF before it", "\n" GET HOST "\r\n", 400, false, NULL},
    {"bare CR in a value", GET HOST "X: a\rb\r\n\r\n", 400, false, NULL},
    {"obs-fold", GET HOST "X: a\r\n b\r\n\r\n", 400, false, NULL},
    {"white space before the first header", GET " " HOST "\r\n", 400, false, NULL},
    {"space before the colon", GET "Host : a\r\n\r\n", 400, false, NULL},
    {"header without colon", GET HOST "X\r\n\r\n", 400, false, NULL},
    {"header without name", GET HOST ": x\r\n\r\n", 400, false, NULL},
    {"brackets in a name", GET HOST "X(y): z\r\n\r\n", 400, false, NULL},
    {"control in a value", GET HOST "X: \x02\r\n\r\n", 400, false, NULL},
    {"DEL in a value", GET HOST "X: \x7F\r\n\r\n", 400, false, NULL},

    {"no Host", GET "\r\n", 400, false, NULL},
    {"two Hosts", GET HOST HOST "\r\n", 400, false, NULL},
    {"two Hosts in 1.0", "GET / HTTP/1.0\r\n" HOST HOST "\r\n", 400, false, NULL},
    {"Host with port", GET "Host: a:80\r\n\r\n", 0, true, "/"},
    {"Host with empty port", GET "Host: a:\r\n\r\n", 0, true, "/"},
    {"Host IPv6", GET "Host: [::1]:80\r\n\r\n", 0, true, "/"},
    {"Host IPv6 without port", GET "Host: [2001:db8::192.0.2.1]\r\n\r\n", 0, true, "/"},
    {"Host of a later IP", GET "Host: [v1f.a:b]:80\r\n\r\n", 0, true, "/"},
    {"absolute target with IPv6", "GET http://[::1]:80/a HTTP/1.1\r\n" HOST "\r\n", 0, true, "/a"},
    {"Host IPv6 and a dot", GET "Host: [::1].\r\n\r\n", 400, false, NULL},
    {"Host with something before IPv6", GET "Host: extra[::1]\r\n\r\n", 400, false, NULL},
    {"Host with no address in brackets", GET "Host: [zz]\r\n\r\n", 400, false, NULL},
    {"Host with nothing in brackets", GET "Host: []\r\n\r\n", 400, false, NULL},
    {"Host with a long address", GET "Host: [0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]\r\n\r\n", 400,
     false, NULL},
    {"Host with a later IP without an address", GET "Host: [v1.]\r\n\r\n", 400, false, NULL},
    {"Host with an open bracket", GET "Host: [::1\r\n\r\n", 400, false, NULL},
    {"Host with a bracket", GET "Host: a]\r\n\r\n", 400, false, NULL},
    {"Host with a bad port behind IPv6", GET "Host: [::1]:x\r\n\r\n", 400, false, NULL},
    {"Host with two ports", GET "Host: [::1]:1:2\r\n\r\n", 400, false, NULL},
    {"absolute target with bad brackets", "GET http://[zz]/ HTTP/1.1\r\n" HOST "\r\n", 400, false, NULL},
    {"empty Host", GET "Host:\r\n\r\n", 0, true, "/"},
    {"Host with bad port", GET "Host: a:x\r\n\r\n", 400, false, NULL},
    {"Host with a slash", GET "Host: a/b\r\n\r\n", 400, false, NULL},
    {"Host with a space", GET "Host: a b\r\n\r\n", 400, false, NULL},
    {"Host with escapes", GET "Host: %c3%A4.a%2f:80\r\n\r\n", 0, true, "/"},
    {"Host with a bad escape", GET "Host: a%zz\r\n\r\n", 400, false, NULL},
    {"Host with half an escape", GET "Host: a%4\r\n\r\n", 400, false, NULL},
    {"Host with a lone percent sign", GET "Host: %\r\n\r\n", 400, false, NULL},
    {"Host list", GET "Host: a@b\r\n\r\n", 400, false, NULL},

    {"body of no length", GET HOST "Content-Length: 0\r\n\r\n", 0, true, "/"},
    {"body", GET HOST "Content-Length: 5\r\n\r\nhello", 0, true, "/"},
    {"body of HEAD", "HEAD / HTTP/1.1\r\n" HOST "Content-Length: 005\r\n\r\nhello", 0, true, "/"},
    {"body in 1.0", "GET / HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello", 0, false, "/"},
    {"body and close", GET HOST "Connection: close\r\nContent-Length: 1\r\n\r\nx", 0, false, "/"},
    {"body cut short", GET HOST "Content-Length: 5\r\n\r\nhell", INCOMPLETE, false, NULL},
    {"body one byte too long", GET HOST "Content-Length: 1048577\r\n\r\n", 413, false, NULL},
    {"very long body", GET HOST "Content-Length: 99999999999999999999999\r\n\r\n", 413, false, NULL},
    {"negative length", GET HOST "Content-Length: -1\r\n\r\n", 400, false, NULL},
    {"plus sign", GET HOST "Content-Length: +1\r\n\r\n", 400, false, NULL},
    {"hexadecimal length", GET HOST "Content-Length: 0x1\r\n\r\n", 400, false, NULL},
    {"empty length", GET HOST "Content-Length:\r\n\r\n", 400, false, NULL},
    {"two lengths", GET HOST "Content-Length: 0\r\nContent-Length: 0\r\n\r\n", 400, false, NULL},
    {"list of lengths", GET HOST "Content-Length: 0, 0\r\n\r\n", 400, false, NULL},
    {"empty chunked body", CHUNKED "0\r\n\r\n", 0, true, "/"},
    {"chunked body", CHUNKED "5\r\nhello\r\n0A\r\n0123456789\r\n000\r\n\r\n", 0, true, "/"},
    {"chunk extensions", CHUNKED "1;a=b;c=\"d\"\r\nx\r\n0 ; e\r\n\r\n", 0, true, "/"},
    {"trailers", CHUNKED "0\r\nX: y\r\nZ:\r\n\r\n", 0, true, "/"},
    {"chunked body without its end", CHUNKED "1\r\nx\r\n0\r\n", INCOMPLETE, false, NULL},
    {"chunk without size", CHUNKED "\r\n", 400, false, NULL},
    {"chunk with a sign", CHUNKED "+1\r\nx\r\n", 400, false, NULL},
    {"chunk with 0x", CHUNKED "0x1\r\nx\r\n", 400, false, NULL},
    {"bare LF behind a size", CHUNKED "1\nx\r\n", 400, false, NULL},
    {"bare CR behind a size", CHUNKED "1\rx\r\n", 400, false, NULL},
    {"chunk longer than it says", CHUNKED "1\r\nxy\r\n", 400, false, NULL},
    {"bare LF behind a chunk", CHUNKED "1\r\nx\n0\r\n\r\n", 400, false, NULL},
    {"control in an extension", CHUNKED "1;\x01\r\nx\r\n", 400, false, NULL},
    {"something behind a chunk size", CHUNKED "1 x\r\nx\r\n", 400, false, NULL},
    {"trailer without colon", CHUNKED "0\r\nX\r\n\r\n", 400, false, NULL},
    {"request in the place of trailers", CHUNKED "0\r\n" GET HOST "\r\n", 400, false, NULL},
    {"folded trailer", CHUNKED "0\r\nX: y\r\n z\r\n\r\n", 400, false, NULL},
    {"bare LF behind a trailer", CHUNKED "0\r\nX: y\n\r\n", 400, false, NULL},
    {"chunk that is too long", CHUNKED "100001\r\n", 413, false, NULL},
    {"chunk size that overflows", CHUNKED "10000000000000000\r\n", 413, false, NULL},
    {"unknown coding before chunked", GET HOST "Transfer-Encoding: gzip, chunked\r\n\r\n", 501, false, NULL},
    {"coding that has no end", GET HOST "Transfer-Encoding: gzip\r\n\r\n", 400, false, NULL},
    {"chunked not last", GET HOST "Transfer-Encoding: chunked, identity\r\n\r\n", 400, false, NULL},
    {"two codings", GET HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400, false,
     NULL},
    {"coding in 1.0", "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400, false, NULL},
    {"length and coding", GET HOST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400, false,
     NULL},
    {"coding and length", GET HOST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", 400, false,
     NULL},

    {"known method", "POST / HTTP/1.1\r\n" HOST "\r\n", 405, true, NULL},
    {"known method with body", "PUT / HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\nx", 405, false, NULL},
    {"options of everything", "OPTIONS * HTTP/1.1\r\n" HOST "\r\n", 405, true, NULL},
    {"connect", "CONNECT a:80 HTTP/1.1\r\n" HOST "\r\n", 405, true, NULL},
    {"unknown method", "BREW / HTTP/1.1\r\n" HOST "\r\n", 501, true, NULL},
    {"methods have large letters", "get / HTTP/1.1\r\n" HOST "\r\n", 501, true, NULL},
    {"no token for a method", "G@T / HTTP/1.1\r\n" HOST "\r\n", 400, false, NULL},

    {"continue without body", GET HOST "Expect: 100-continue\r\n\r\n", 0, true, "/"},
    {"continue with body", GET HOST "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n", 0, false, "/"},
    {"continue in 1.0 means nothing",
     "GET / HTTP/1.0\r\nConnection: keep-alive\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello", 0,
     true, "/"},
    {"unknown expectation", GET HOST "Expect: 200-ok\r\n\r\n", 417, false, NULL},
};

/* Parses `head` as it arrives: first `cut` bytes, then `step` bytes at a time. The bytes lie at the end of
 * memory of exactly their size, so that AddressSanitizer sees any read behind them. */
static struct request parse(const char *head, size_t length, size_t cut, size_t step, bool *ended)
{
    struct request request = {0};

    *ended = false;
    for (size_t there = cut; !*ended; there += step) {
        char *copy;

        if (there > length)
            there = length;
        copy = malloc(there ? there : 1);
        assert_non_null(copy);
        memcpy(copy, head, there);
        *ended = request_parse(&request, copy, there);
        free(copy);
        if (there == length)
            break;
    }
    return request;
}

static void check(const struct vector *vector, size_t cut, size_t step)
{
    const size_t length = strlen(vector->head);
    bool ended;
    const struct request request = parse(vector->head, length, cut, step, &ended);

    if (ended != (vector->status != INCOMPLETE) || (ended && request.status != vector->status) ||
        (ended && request.keep_alive != vector->keep_alive))
        fail_msg("%s, cut at %zu: ended %d, status %u, keep-alive %d", vector->what, cut, ended,
                 request.status, request.keep_alive);
    if (vector->target &&
        (request.target_length != strlen(vector->target) ||
         memcmp(vector->head + request.target_offset, vector->target, request.target_length) != 0))
        fail_msg("%s, cut at %zu: target %.*s", vector->what, cut, (int)request.target_length,
                 vector->head + request.target_offset);
}

static void test_each_vector_has_its_outcome_however_it_is_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(VECTORS) / sizeof(*VECTORS); i++) {
        const size_t length = strlen(VECTORS[i].head);

        for (size_t cut = 0; cut <= length; cut++)
            check(&VECTORS[i], cut, length ? length : 1);
        check(&VECTORS[i], 0, 1);
    }
}

static void test_nul_byte_in_a_header_yields_400(void **state)
{
    static const char head[] = GET HOST "X: a\0b\r\n\r\n";
    bool ended;

    (void)state;
    assert_int_equal(parse(head, sizeof(head) - 1, sizeof(head) - 1, 1, &ended).status, 400);
    assert_true(ended);
}

static void test_what_no_line_may_have_yields_400_without_the_end_of_the_line(void **state)
{
    static const char *const HEADS[] = {"GET /\x01", GET "Host: a\x7F", GET "Host: a\n", GET "Host: a\rb"};

    (void)state;
    for (size_t i = 0; i < sizeof(HEADS) / sizeof(*HEADS); i++) {
        const size_t length = strlen(HEADS[i]);
        bool ended;

        assert_int_equal(parse(HEADS[i], length, length, 1, &ended).status, 400);
        assert_true(ended);
        assert_int_equal(parse(HEADS[i], length, length, length, &ended).status, 400);
        assert_true(ended);
    }
}

static void test_requests_behind_the_first_are_left_alone(void **state)
{
    static const char first[] = GET HOST "\r\n";
    struct request request = {0};
    char both[2 * sizeof(first)];

    (void)state;
    snprintf(both, sizeof(both), "%s%s", first, first);
    assert_true(request_parse(&request, both, strlen(both)));
    assert_int_equal(request.parsed, strlen(first));
}

static void test_body_is_counted_among_the_bytes_of_its_request(void **state)
{
    static const char first[] = GET HOST "Content-Length: 3\r\n\r\nabc";
    struct request request = {0};
    char both[2 * sizeof(first)];

    (void)state;
    snprintf(both, sizeof(both), "%s%s", first, first);
    assert_true(request_parse(&request, both, strlen(both)));
    assert_int_equal(request.parsed, strlen(first));
    assert_int_equal(request.head_length, strlen(first) - 3);
}

static void test_bytes_of_a_body_need_not_be_kept(void **state)
{
    char buffer[100] = GET HOST "Content-Length: 1000000\r\n\r\n";
    const size_t head_length = strlen(buffer);
    struct request request = {0};

    (void)state;
    for (size_t left = 1000000; left > 0; left -= 10) {
        assert_false(request_parse(&request, buffer, request.parsed ? head_length : 20));
        assert_int_equal(request_keep(&request, head_length), head_length);
        memset(buffer + head_length, 'x', 10);
        assert_int_equal(request_parse(&request, buffer, head_length + 10), left == 10);
        if (left > 10)
            assert_int_equal(request_keep(&request, head_length + 10), head_length);
    }
    assert_int_equal(request.status, 0);
    assert_int_equal(request.parsed, head_length + 10);
}

/* In chunks of any size: what counts is what they hold. */
static void test_body_in_chunks_may_be_as_long_as_any_other(void **state)
{
    static const size_t SIZES[] = {BODY_BYTES_MAX, BODY_BYTES_MAX / 16, 1000};

    (void)state;
    for (size_t i = 0; i < sizeof(SIZES) / sizeof(*SIZES); i++) {
        for (size_t extra = 0; extra < 2; extra++) {
            char *text = malloc(3 * BODY_BYTES_MAX);
            size_t length = (size_t)sprintf(text, "%s", CHUNKED), left = BODY_BYTES_MAX + extra;
            struct request request = {0};

            while (left > 0) {
                const size_t size = left < SIZES[i] ? left : SIZES[i];

                length += (size_t)sprintf(text + length, "%zx\r\n", size);
                memset(text + length, 'x', size);
                length += size;
                length += (size_t)sprintf(text + length, "\r\n");
                left -= size;
            }
            length += (size_t)sprintf(text + length, "0\r\n\r\n");
            assert_true(request_parse(&request, text, length));
            assert_int_equal(request.status, extra ? 413 : 0);
            free(text);
        }
    }
}

static void test_body_in_endless_small_chunks_yields_413(void **state)
{
    char buffer[200] = CHUNKED;
    const size_t head_length = strlen(buffer);
    struct request request = {0};
    unsigned chunks = 0;

    (void)state;
    memcpy(buffer + head_length, "1\r\nx\r\n", 6);
    while (!request_parse(&request, buffer, head_length + 6) && chunks++ < BODY_BYTES_MAX)
        assert_int_equal(request_keep(&request, head_length + 6), head_length);
    assert_int_equal(request.status, 413);
    assert_int_equal(chunks, BODY_BYTES_MAX / 5); /* as much framing as body at most */
}

/* Returns a request whose target has `target` bytes, with `headers` headers of `value` bytes after "X: ". */
static char *long_request(size_t target, size_t headers, size_t value)
{
    char *head = malloc(target + headers * (value + 8) + 100);
    size_t length;

    assert_non_null(head);
    length = (size_t)sprintf(head, "GET /");
    memset(head + length, 'a', target - 1);
    length += target - 1;
    length += (size_t)sprintf(head + length, " HTTP/1.1\r\n" HOST);
    for (size_t i = 0; i < headers; i++) {
        length += (size_t)sprintf(head + length, "X: ");
        memset(head + length, 'b', value);
        length += value;
        length += (size_t)sprintf(head + length, "\r\n");
    }
    sprintf(head + length, "\r\n");
    return head;
}

/* Asserts the status of a long request in one piece and cut at some places. */
static void assert_long_request(size_t target, size_t headers, size_t value, unsigned status)
{
    char *head = long_request(target, headers, value);
    const size_t length = strlen(head);

    for (size_t step = length; step > 400; step /= 3) {
        bool ended;
        const struct request request = parse(head, length, step, step, &ended);

        assert_true(ended);
        assert_int_equal(request.status, status);
    }
    free(head);
}

#define LINE_REST (sizeof("GET  HTTP/1.1") - 1) /* of a request line, beside the target */

static void test_longest_request_line_is_served_and_one_byte_more_yields_414(void **state)
{
    (void)state;
    assert_long_request(REQUEST_LINE_MAX - LINE_REST, 0, 0, 0);
    assert_long_request(REQUEST_LINE_MAX - LINE_REST + 1, 0, 0, 414);
}

static void test_endless_request_line_yields_414_without_its_end(void **state)
{
    struct request request = {0};
    char *line = malloc(REQUEST_LINE_MAX + 2);

    (void)state;
    assert_non_null(line);
    memset(line, 'G', REQUEST_LINE_MAX + 2);
    assert_false(request_parse(&request, line, REQUEST_LINE_MAX + 1));
    assert_true(request_parse(&request, line, REQUEST_LINE_MAX + 2));
    assert_int_equal(request.status, 414);
    free(line);
}

static void test_most_header_bytes_are_served_and_one_more_yields_431(void **state)
{
    /* One header "X: …" beside Host and the empty line. */
    const size_t value = REQUEST_HEADERS_MAX - strlen(HOST) - strlen("X: \r\n") - strlen("\r\n");

    (void)state;
    assert_long_request(1, 1, value, 0);
    assert_long_request(1, 1, value + 1, 431);
}

static void test_hundred_headers_are_served_and_one_more_yields_431(void **state)
{
    (void)state;
    assert_long_request(1, REQUEST_HEADER_COUNT_MAX - 1, 5, 0);
    assert_long_request(1, REQUEST_HEADER_COUNT_MAX, 5, 431);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_vector_has_its_outcome_however_it_is_cut),
        cmocka_unit_test(test_nul_byte_in_a_header_yields_400),
        cmocka_unit_test(test_what_no_line_may_have_yields_400_without_the_end_of_the_line),
        cmocka_unit_test(test_requests_behind_the_first_are_left_alone),
        cmocka_unit_test(test_body_is_counted_among_the_bytes_of_its_request),
        cmocka_unit_test(test_bytes_of_a_body_need_not_be_kept),
        cmocka_unit_test(test_body_in_chunks_may_be_as_long_as_any_other),
        cmocka_unit_test(test_body_in_endless_small_chunks_yields_413),
        cmocka_unit_test(test_longest_request_line_is_served_and_one_byte_more_yields_414),
        cmocka_unit_test(test_endless_request_line_yields_414_without_its_end),
        cmocka_unit_test(test_most_header_bytes_are_served_and_one_more_yields_431),
        cmocka_unit_test(test_hundred_headers_are_served_and_one_more_yields_431),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
