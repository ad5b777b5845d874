/*
 * See metrics.h.
 */
#include "httpd/counters/metrics.h"

#include <stdlib.h>

const struct metric METRIC_TABLE[METRIC_COUNT] = {
#define METRIC_ROW(name, unit, kind, aggregation, help) {#name, unit, kind, aggregation, help},
#define REPLIES_ROW(code, name, reason)                                                                      \
    {"replies_" #code, "1", "counter", "sum", "replies with status " #code " (" reason ")"},
    METRICS(METRIC_ROW) HTTP_STATUSES(REPLIES_ROW)
#undef METRIC_ROW
#undef REPLIES_ROW
};

uint64_t *metrics_replies(struct counters *counters, enum http_status status)
{
    switch (status) {
#define REPLIES_CASE(code, name, reason)                                                                     \
    case HTTP_##name:                                                                                        \
        return &counters->replies_##code;
        HTTP_STATUSES(REPLIES_CASE)
#undef REPLIES_CASE
    }
    abort(); /* not a member of the enumeration */
}
