/*
 * Traces of arrivals: one that is taken has moments that ascend, and an arrival clock that never goes back.
 */
#include "loadgen/arrivals.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct arrival_trace trace;
    struct arrivals arrivals;
    char error[256] = "";

    if (size == 0)
        return 0;
    FILE *in = fmemopen((void *)(uintptr_t)bytes, size, "r");
    REQUIRE(in);
    if (arrival_trace_read(&trace, in, "trace", error, sizeof(error))) {
        REQUIRE(trace.count >= 2 && trace.period_s > 0 && arrival_trace_rate(&trace) > 0);
        arrivals_init(&arrivals, ARRIVALS_TRACE, &trace, 100, 1);
        for (size_t i = 0; i < 3 * trace.count; i++) {
            uint64_t before_ns = arrivals_next_ns(&arrivals);
            arrivals_advance(&arrivals);
            REQUIRE(arrivals_next_ns(&arrivals) >= before_ns);
        }
    } else {
        REQUIRE(error[0] != '\0');
    }
    arrival_trace_free(&trace);
    fclose(in);
    return 0;
}
