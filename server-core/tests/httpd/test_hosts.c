/*
 * Which host a request is for, and the keys of their files.
 */
#include "httpd/config/host_section.h"
#include "httpd/log.h"
#include "tests/unit.h"

#include <stdio.h>
#include <string.h>

static struct hosts hosts;
static char complaint[512];

static int set_up(void **state)
{
    (void)state;
    log_divert(complaint, sizeof(complaint));
    if (!host_section_begin(&hosts, "a.example  B.Example", "f:1") || !host_section_begin(&hosts, "c", "f:2"))
        return -1;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    log_divert(NULL, 0);
    hosts_release(&hosts);
    return 0;
}

static void test_host_of_a_request_decides_about_its_key(void **state)
{
    static const struct {
        const char *target, *host, *key;
    } cases[] = {
        {"/", "a.example", "/1/"},
        {"/x%2Fy?z", "a.example", "/1/x/y"},
        {"/x", "A.EXAMPLE:8000", "/1/x"},
        {"/x", "b.example.", "/1/x"},
        {"/x", "b.example.:80", "/1/x"},
        {"/../x", "c", "/2/x"},
        {"/x", "d", "x"},
        {"/x", "", "x"},
        {"/x", "a.exampl", "x"},
        {"/x", "a.example.org", "x"},
        {"/x", "b.example a.example", NULL},
        {"/x", "[::1]:80", "x"},
        {"/1/x", "d", "1/x"},
        {"//1/x", "d", "1/x"},
        {"http://c/x", "a.example", "/2/x"},
        {"http://C:80?x", "a.example", "/2/"},
        {"http://d/x", "a.example", "x"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct request request = {0};
        char head[256], key[HOST_KEY_MAX];

        snprintf(head, sizeof(head), "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", cases[i].target, cases[i].host);
        assert_true(request_parse(&request, head, strlen(head)));
        assert_int_equal(request.status == 0, cases[i].key != NULL);
        if (cases[i].key) {
            assert_int_equal(hosts_key(&hosts, &request, head, key), strlen(cases[i].key));
            assert_string_equal(key, cases[i].key);
        }
    }
}

static void test_key_leads_to_the_root_of_its_host(void **state)
{
    int root = 7;

    (void)state;
    hosts.all[1].fd = 9;
    assert_string_equal(hosts_locate(&hosts, "x/y", &root), "x/y");
    assert_int_equal(root, 7);
    assert_string_equal(hosts_locate(&hosts, "/2/x/y", &root), "x/y");
    assert_int_equal(root, 9);
    assert_string_equal(hosts_locate(&hosts, "/2/", &root), "");
    hosts.all[1].fd = -1;
}

static void test_mistakes_are_named(void **state)
{
    static const struct {
        const char *names, *sentence;
    } mistakes[] = {
        {"", "[host]: expected names"},      {"a b/c", "[host b/c]: expected names"},
        {"a.", "[host a.]: expected names"}, {"A.example", "[host a.example]: given already"},
        {"*.org", "[host *.org]: expected"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(*mistakes); i++) {
        *complaint = '\0';
        assert_false(host_section_begin(&hosts, mistakes[i].names, "f:3"));
        assert_non_null(strstr(complaint, mistakes[i].sentence));
    }
    *complaint = '\0';
    assert_true(host_section_set(&hosts, "root", "/", "f:4"));
    assert_false(host_section_set(&hosts, "root", "/", "f:5"));
    assert_false(host_section_set(&hosts, "workers", "1", "f:6"));
    assert_false(host_sections_check(&hosts));
    assert_non_null(strstr(complaint, "f:1: [host a.example b.example]: root is not set"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_host_of_a_request_decides_about_its_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_key_leads_to_the_root_of_its_host, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mistakes_are_named, set_up, tear_down),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
