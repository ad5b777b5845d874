/*
 * What a request asks of the upstream, from its path and query.
 */
#ifndef TRIMTAB_UPSTREAM_QUERY_H
#define TRIMTAB_UPSTREAM_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUERY_SIZE_MAX       (UINT64_C(1) << 30)
#define QUERY_SERVICE_US_MAX UINT64_C(3600000000)

struct query {
    uint64_t size_bytes;
    uint64_t service_us;
};

/* Reads `/dynamic/drawn?size=BYTES&us=MICROSECONDS`, where `us` may be missing and then is 0. Returns false
 * for anything else, and for numbers beyond the limits. */
bool query_parse(const char *target, size_t length, struct query *query);

/* Says whether it is `/status`. */
bool query_is_status(const char *target, size_t length);

#endif
