/*
 * Which coding a client gets of those that are there.
 */
#include "httpd/http/coding.h"
#include "tests/unit.h"

#include <stdio.h>
#include <string.h>

#define ALL (CODING_BIT(CODING_BR) | CODING_BIT(CODING_ZSTD) | CODING_BIT(CODING_GZIP))

static const struct {
    const char *value; /* of Accept-Encoding; NULL: there is none */
    unsigned available;
    enum coding expected;
} CASES[] = {
    {NULL, ALL, CODING_NONE},
    {"", ALL, CODING_NONE},
    {"gzip, deflate, br, zstd", ALL, CODING_BR},
    {"gzip, deflate, zstd", ALL, CODING_ZSTD},
    {"gzip, deflate, br", CODING_BIT(CODING_GZIP), CODING_GZIP},
    {"GZIP", ALL, CODING_GZIP},
    {"x-gzip", ALL, CODING_GZIP},
    {"br;q=0.5, gzip;q=0.8", ALL, CODING_GZIP},
    {"br;q=0.5, gzip ; q=0.501", ALL, CODING_GZIP},
    {"br;q=0, gzip;q=0.000", ALL, CODING_NONE},
    {"*", ALL, CODING_BR},
    {"*;q=0.5, br;q=0", ALL, CODING_ZSTD},
    {"*;q=0", ALL, CODING_NONE},
    {"identity, gzip;q=0.9", ALL, CODING_NONE},
    {"identity;q=0.9, gzip;q=0.9", ALL, CODING_GZIP},
    {"identity;q=0, gzip;q=0.001", ALL, CODING_GZIP},
    {"gzip;q=1.001", ALL, CODING_NONE},
    {"gzip;q=2", ALL, CODING_NONE},
    {"gzip;q=0.1234", ALL, CODING_NONE},
    {"gzip;q=", ALL, CODING_NONE},
    {"gzip;p=1", ALL, CODING_NONE},
    {"gzipped, , ;q=1,", ALL, CODING_NONE},
    {"br", CODING_BIT(CODING_GZIP), CODING_NONE},
    {"br\r\nAccept-Encoding: gzip;q=0.5", CODING_BIT(CODING_GZIP), CODING_GZIP},
};

static void test_client_gets_what_it_likes_best(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
        struct request request = {0};
        char head[512];

        snprintf(head, sizeof(head), "GET / HTTP/1.1\r\nHost: h\r\n%s%s%s\r\n",
                 CASES[i].value ? "Accept-Encoding: " : "", CASES[i].value ? CASES[i].value : "",
                 CASES[i].value ? "\r\n" : "");
        assert_true(request_parse(&request, head, strlen(head)));
        assert_int_equal(request.status, 0);
        if (coding_choose(&request, head, CASES[i].available) != CASES[i].expected)
            fail_msg("%s", CASES[i].value ? CASES[i].value : "(none)");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_client_gets_what_it_likes_best),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
