/*
 * Session logs: a log that is taken has sessions, none of them empty, and a kind for each request; one that
 * is refused comes with a sentence. Whether it is one of HTTP requests or of statements.
 */
#include "loadgen/sessions.h"
#include "tests/fuzz/fuzz.h"

/* Reads the log as one of that form. */
static void read_log(const uint8_t *bytes, size_t size, const struct request_form *form)
{
    struct session_plan plan = {0};
    char error[512] = "";
    FILE *in = fmemopen((void *)(uintptr_t)bytes, size, "r");

    REQUIRE(in);
    if (sessions_read(&plan, in, "log", form, error, sizeof(error))) {
        REQUIRE(plan.session_count > 0 && plan.request_count >= plan.session_count);
        REQUIRE(plan.session_ends[plan.session_count - 1] == plan.request_count);
        for (uint32_t i = 0; i < plan.session_count; i++)
            REQUIRE(session_length(&plan, i) > 0);
        for (uint32_t i = 0; i < plan.request_count; i++)
            REQUIRE(plan.requests[i].kind < plan.kind_count);
        for (uint32_t i = 0; i < plan.kind_count; i++)
            REQUIRE(plan.kinds[i].text_length > 5);
    } else {
        REQUIRE(error[0] != '\0');
    }
    sessions_free(&plan);
    fclose(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size == 0)
        return 0;
    read_log(bytes, size, &(struct request_form){.authority = "host:1"});
    read_log(bytes, size, &(struct request_form){.sql = true});
    return 0;
}
