/*
 * The session log: what its grammar means, what is refused and where, and how compactly it is kept.
 */
#include "loadgen/sessions.h"
#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>

static struct session_plan plan;
static char error[512];
static const struct request_form form = {.authority = "host:1"};

static bool read_text(const char *text, size_t length)
{
    FILE *in = fmemopen((void *)(uintptr_t)text, length, "r");
    assert_non_null(in);
    bool ok = sessions_read(&plan, in, "log", &form, error, sizeof(error));
    fclose(in);
    return ok;
}

static void assert_read(const char *text)
{
    if (!read_text(text, strlen(text)))
        fail_msg("refused: %s", error);
}

static void assert_refused(const char *text, const char *sentence)
{
    assert_false(read_text(text, strlen(text)));
    assert_string_equal(sentence, error);
    sessions_free(&plan);
    plan = (struct session_plan){0};
}

static int free_plan(void **state)
{
    (void)state;
    sessions_free(&plan);
    plan = (struct session_plan){0};
    return 0;
}

static const struct request_kind *kind(uint32_t request)
{
    return &plan.kinds[plan.requests[request].kind];
}

/* Blank lines separate sessions, however many they are and wherever they stand; comments do not. */
static void test_blank_lines_separate_sessions(void **state)
{
    (void)state;
    assert_read("\n# first\n/a\n# still first\n/b\n\n \t\n\n/c\n/d\n/e\n\n\n");
    assert_int_equal(2, plan.session_count);
    assert_int_equal(0, session_first(&plan, 0));
    assert_int_equal(2, session_length(&plan, 0));
    assert_int_equal(2, session_first(&plan, 1));
    assert_int_equal(3, session_length(&plan, 1));
    assert_float_equal(2.5, sessions_mean_length(&plan), 0);
}

/* A log whose last line has no newline, or that was written with CR LF, means the same. */
static void test_line_ends_do_not_matter(void **state)
{
    (void)state;
    assert_read("/a\r\n\r\n/b size=7");
    assert_int_equal(2, plan.session_count);
    assert_int_equal(7, kind(1)->size);
}

/* The fields of a line are those of its request; without them it is a GET of unknown size without pause. */
static void test_fields_belong_to_their_request(void **state)
{
    (void)state;
    assert_read("/a method=HEAD think=1.5 size=102\n/b\n\t/c think=0.000001 method=GET size=0\n");
    assert_int_equal(3, plan.request_count);
    assert_int_equal(METHOD_HEAD, kind(0)->method);
    assert_int_equal(102, kind(0)->size);
    assert_int_equal(1500000, plan.requests[0].think_us);
    assert_int_equal(METHOD_GET, kind(1)->method);
    assert_true(kind(1)->size == SIZE_UNKNOWN);
    assert_int_equal(0, plan.requests[1].think_us);
    assert_int_equal(1, plan.requests[2].think_us);
    assert_int_equal(0, kind(2)->size);
}

/* The request text is ready to be sent: request line, Host and User-Agent, empty line. */
static void test_request_text_is_complete(void **state)
{
    (void)state;
    assert_read("/dir/x?q=1 method=HEAD\n");
    assert_string_equal(
        "HEAD /dir/x?q=1 HTTP/1.1\r\nHost: host:1\r\nUser-Agent: trimtab-load/" TRIMTAB_VERSION "\r\n\r\n",
        kind(0)->text);
    assert_int_equal(strlen(kind(0)->text), kind(0)->text_length);
}

/* A POST has the body that the log gives, blanks and other fields' names included. */
static void test_post_sends_its_contents(void **state)
{
    (void)state;
    assert_read(
        "/a method=POST contents='b size=9 c' think=1\n/a contents=\"'\" method=POST\n/b method=POST\n");
    assert_non_null(strstr(kind(0)->text, "POST /a HTTP/1.1\r\n"));
    assert_non_null(strstr(kind(0)->text, "Content-Length: 10\r\n\r\nb size=9 c"));
    assert_int_equal(1000000, plan.requests[0].think_us);
    assert_true(kind(0)->size == SIZE_UNKNOWN);
    assert_non_null(strstr(kind(1)->text, "Content-Length: 1\r\n\r\n'"));
    assert_non_null(strstr(kind(2)->text, "Content-Length: 0\r\n\r\n"));
}

/* A long log of few files stays small: each distinct request is kept once. */
static void test_repeated_requests_are_kept_once(void **state)
{
    (void)state;
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    for (int i = 0; i < 20000; i++)
        fprintf(out, "/file%d size=%d\n%s", i % 500, i % 500 * 10, i % 7 == 6 ? "\n" : "");
    fclose(out);
    assert_true(read_text(text, length));
    free(text);
    assert_int_equal(500, plan.kind_count);
    assert_int_equal(20000, plan.request_count);
    assert_int_equal(2858, plan.session_count);
    for (uint32_t i = 0; i < plan.request_count; i++)
        assert_int_equal(i % 500 * 10, kind(i)->size);
}

/* Two sizes or methods of one URI are two kinds of request. */
static void test_size_and_method_distinguish_requests(void **state)
{
    (void)state;
    assert_read("/a size=1\n/a size=2\n/a size=1 method=HEAD\n/a size=1\n");
    assert_int_equal(3, plan.kind_count);
    assert_int_equal(plan.requests[0].kind, plan.requests[3].kind);
}

/* Every malformed line is refused with its number, the offending thing and what was expected. */
static void test_malformed_lines_are_refused_by_number(void **state)
{
    (void)state;
    assert_refused("/a\nb\n", "log:2: b: expected a URI that starts with /");
    assert_refused("/a think=-1\n", "log:1: think=-1: expected seconds from 0 to 4000");
    assert_refused("/a think=nan\n", "log:1: think=nan: expected seconds from 0 to 4000");
    assert_refused("/a think=5s\n", "log:1: think=5s: expected seconds from 0 to 4000");
    assert_refused("/a size=\n", "log:1: size=: expected a number of bytes");
    assert_refused("/a size=-5\n", "log:1: size=-5: expected a number of bytes");
    assert_refused("/a method=PUT\n", "log:1: method=PUT: expected GET, HEAD or POST");
    assert_refused("#\n\n/a content=x\n", "log:3: content=x: expected method=, contents=, think= or size=");
    assert_refused("/a method=POST contents=x\n", "log:1: contents=x: expected a body in quotation marks");
    assert_refused("/a method=POST contents='x\n", "log:1: contents='x: expected a body in quotation marks");
    assert_refused("/a contents='x'\n", "log:1: contents=: only method=POST sends a body");
    assert_refused("/caf\xc3\xa9\n", "log:1: /caf\xc3\xa9: a URI holds no control or non-ASCII characters");
}

/* White space at the start of a session's first line promises a burst that nothing has begun. */
static void test_indented_line_without_burst_is_refused(void **state)
{
    (void)state;
    assert_refused(
        "/a\n /b\n\n /c\n",
        "log:4: the line starts with white space, but no line of the session begins a burst before it");
}

/* A log without requests can offer nothing. */
static void test_log_without_requests_is_refused(void **state)
{
    (void)state;
    assert_refused("# nothing\n\n", "log: the session log holds no request");
}

/* A NUL byte would hide the rest of its line. */
static void test_nul_byte_is_refused(void **state)
{
    (void)state;
    assert_false(read_text("/a\n/b\0c\n", 8));
    assert_string_equal("log:2: the line holds a NUL byte", error);
}

/* Without a log, every session is the same number of requests of one path. */
static void test_generated_session_repeats_the_path(void **state)
{
    (void)state;
    sessions_repeat(&plan, "/x", &form, 3);
    assert_int_equal(1, plan.session_count);
    assert_int_equal(3, session_length(&plan, 0));
    assert_int_equal(1, plan.kind_count);
    assert_non_null(strstr(kind(2)->text, "GET /x HTTP/1.1\r\n"));
}

/* Generated sessions have bursts of at least the minimum; a minimum below one means one. */
static void test_generated_bursts_have_their_minimum(void **state)
{
    (void)state;
    uint32_t bursts = 0;

    sessions_generate(&plan, "/x", &form, 30, 2.43, 3, 1);
    assert_int_equal(30, session_length(&plan, 7));
    for (uint32_t session = 0; session < plan.session_count; session++)
        for (uint32_t i = 0, length = 3; i < 30; i++) {
            bool in_burst = plan.requests[session_first(&plan, session) + i].in_burst;
            assert_true(in_burst || length >= 3);
            length = in_burst ? length + 1 : 1;
            bursts += !in_burst;
        }
    /* The mean of the distribution is 3 * 2.43 / 1.43 = 5.1, rounded down on the way and cut off at the end.
     */
    assert_in_range(bursts / plan.session_count, 5, 10);
}

/* Lines of a burst are told from those that begin one. */
static void test_bursts_are_kept(void **state)
{
    (void)state;
    assert_read("/a\n /b\n\t/c think=1\n/d\n");
    assert_false(plan.requests[0].in_burst);
    assert_true(plan.requests[1].in_burst && plan.requests[2].in_burst);
    assert_false(plan.requests[3].in_burst);
    assert_true(plan.requests[2].think_given && !plan.requests[1].think_given);
}

#define LOG_TEST(name) cmocka_unit_test_teardown(name, free_plan)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOG_TEST(test_blank_lines_separate_sessions),
        LOG_TEST(test_line_ends_do_not_matter),
        LOG_TEST(test_fields_belong_to_their_request),
        LOG_TEST(test_request_text_is_complete),
        LOG_TEST(test_post_sends_its_contents),
        LOG_TEST(test_repeated_requests_are_kept_once),
        LOG_TEST(test_size_and_method_distinguish_requests),
        LOG_TEST(test_malformed_lines_are_refused_by_number),
        LOG_TEST(test_indented_line_without_burst_is_refused),
        LOG_TEST(test_log_without_requests_is_refused),
        LOG_TEST(test_nul_byte_is_refused),
        LOG_TEST(test_generated_session_repeats_the_path),
        LOG_TEST(test_generated_bursts_have_their_minimum),
        LOG_TEST(test_bursts_are_kept),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
