/*
 * The command line of trimtab-load.
 */
#ifndef TRIMTAB_LOADGEN_OPTIONS_H
#define TRIMTAB_LOADGEN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct options {
    const char *url;
    double rate_rps; /* offered requests per second */
    double duration_s;
    double warmup_s;           /* beginning of the run that goodput, rates and latencies leave out */
    double timeout_s;          /* of the connect, and then of the whole session */
    const char *sessions_file; /* NULL: sessions of session_requests times the URL */
    uint32_t session_requests;
    uint64_t seed;
    bool poisson;
    const char *sources;   /* comma-separated local addresses, or NULL */
    bool close_with_reset; /* RST instead of FIN at a session's end */
    bool text;             /* a report for people instead of JSON lines */
};

enum options_result {
    OPTIONS_RUN,
    OPTIONS_DONE, /* help or the version has been printed */
    OPTIONS_BAD,  /* the error says why */
};

/* Reads the arguments of main(). Fills `options` when the result is OPTIONS_RUN, and puts a sentence into
 * `error` when it is OPTIONS_BAD. The strings stay those of argv. */
enum options_result options_parse(struct options *options, int argc, char **argv, char *error,
                                  size_t error_size);

#endif
