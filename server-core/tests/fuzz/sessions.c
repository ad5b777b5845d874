/*
 * Session logs: a log that is taken has sessions, none of them empty, and a kind for each request; one that
 * is refused comes with a sentence.
 */
#include "loadgen/sessions.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const struct request_form form = {.authority = "host:1"};
    struct session_plan plan = {0};
    char error[512] = "";
    FILE *in;

    if (size == 0)
        return 0;
    in = fmemopen((void *)(uintptr_t)bytes, size, "r");
    REQUIRE(in);
    if (sessions_read(&plan, in, "log", &form, error, sizeof(error))) {
        REQUIRE(plan.session_count > 0 && plan.request_count >= plan.session_count);
        REQUIRE(plan.session_ends[plan.session_count - 1] == plan.request_count);
        for (uint32_t i = 0; i < plan.session_count; i++)
            REQUIRE(session_length(&plan, i) > 0);
        for (uint32_t i = 0; i < plan.request_count; i++)
            REQUIRE(plan.requests[i].kind < plan.kind_count);
    } else {
        REQUIRE(error[0] != '\0');
    }
    sessions_free(&plan);
    fclose(in);
    return 0;
}
