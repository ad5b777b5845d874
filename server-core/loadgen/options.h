/*
 * The command line of trimtab-load.
 */
#ifndef TRIMTAB_LOADGEN_OPTIONS_H
#define TRIMTAB_LOADGEN_OPTIONS_H

#include "loadgen/arrivals.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limits that other files share with the command line. */
#define CONNECTIONS_MAX 1000000
#define PROCESSES_MAX   1024
#define MACHINES_MAX    256
#define STREAMS_MAX     1000
#define STREAMS_DEFAULT 100 /* the least that a server should allow (RFC 9113 §6.5.2), and most do */

enum mode { MODE_OPEN, MODE_CLOSED, MODE_MERGE };

enum close_kind { CLOSE_FIN, CLOSE_RESET };
enum http_version { HTTP_1_1, HTTP_1_0, HTTP_2 };
enum verify_kind { VERIFY_NONE, VERIFY_SAMPLE, VERIFY_ALL };
enum tls_version { TLS_ANY, TLS_1_2, TLS_1_3 };
enum connection_kind { CONNECTION_KEEP_ALIVE, CONNECTION_CLOSE };

/* A distribution of two parameters, the second being its scale or its minimum. */
struct distribution {
    double shape;
    double scale;
};

struct options {
    enum mode mode;
    const char *url;
    double rate_rps;      /* offered requests per second; open loop */
    uint64_t connections; /* kept busy; closed loop */
    double duration_s;
    double warmup_s;           /* beginning of the run that goodput, rates and latencies leave out */
    double timeout_s;          /* open loop: of the session; closed loop: of each request */
    double connect_timeout_s;  /* as timeout_s when not given */
    const char *sessions_file; /* NULL: sessions of session_requests times the URL */
    uint64_t session_requests; /* 0 in the closed loop: as many as the run has time for */
    unsigned arrivals;         /* enum arrival_kind */
    const char *trace_file;    /* for ARRIVALS_TRACE */
    /* Distributions that pauses are drawn from; unused while their shape is 0. */
    struct distribution active_off;   /* Weibull with a scale in seconds: within a burst */
    struct distribution inactive_off; /* Pareto with a minimum in seconds: between bursts */
    struct distribution burst;        /* Pareto with a minimum: requests in a burst, without a log */
    double slow_share;                /* of the sessions, 0 to 1 */
    uint64_t slow_window_bytes;       /* receive buffer of a slow session */
    double slow_pace;                 /* bytes per second that it reads */
    uint64_t seed;
    unsigned http;            /* enum http_version */
    uint64_t streams;         /* of HTTP/2, that a session has under way at once */
    unsigned connection;      /* enum connection_kind */
    unsigned close;           /* enum close_kind */
    const char *destinations; /* comma-separated HOST[:PORT] to connect to instead, or NULL */
    const char *sources;      /* comma-separated local addresses, or NULL */
    unsigned tls_version;     /* enum tls_version */
    const char *tls_ciphers;  /* OpenSSL's names for that version, or NULL */
    double tls_resumed;       /* of the connections, 0 to 1, those that offer an earlier session */
    const char *tls_name;     /* that the server is asked for instead of the URL's host, or NULL */
    const char *tls_ca;       /* authorities that its certificate is checked against, or NULL */
    double conditional_share; /* of the requests, 0 to 1 */
    unsigned verify;          /* enum verify_kind */
    uint64_t processes;
    uint64_t machines;    /* that share the load */
    uint64_t machine;     /* which of them this is, from 0 */
    uint64_t start_at_ns; /* moment of the monotonic clock at which the load begins; 0: at once */
    const char *cpus;     /* CPU numbers and ranges for the processes, in turn, or NULL */
    bool text;            /* a report for people instead of JSON lines */
    char **files;         /* merge: results to add up */
    int file_count;
};

enum options_result {
    OPTIONS_RUN,
    OPTIONS_DONE, /* help or the version has been printed */
    OPTIONS_BAD,  /* the error says why */
};

/* Reads the command line into `options`. `error` (error_size bytes) gets a sentence that names the option and
 * what was expected. */
enum options_result options_parse(struct options *options, int argc, char **argv, char *error,
                                  size_t error_size);

/* The word that the command line has for a mode, and the mode that has this word; false when none has. */
const char *mode_name(enum mode mode);
bool mode_of(const char *name, enum mode *mode);

#endif
