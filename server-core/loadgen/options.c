/*
 * See options.h.
 */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: trimtab-load open --url http://HOST:PORT[/PATH] --rate RPS --duration S [OPTION]...\n"
    "\n"
    "Offers HTTP load in an open loop: sessions arrive at their rate whatever the server does.\n"
    "Prints one JSON document a line: progress every second, then the result.\n"
    "\n"
    "  --url URL               where to; its path is asked for when there is no session log\n"
    "  --rate RPS              requests offered a second\n"
    "  --duration S            how long sessions go on to arrive\n"
    "  --warmup S              beginning that goodput, rates and latencies leave out (0)\n"
    "  --timeout S             for the connect, and then again for the whole session (10)\n"
    "  --sessions FILE         session log in httperf's wsesslog form\n"
    "  --session-requests N    without a log: requests in a session (1)\n"
    "  --arrivals KIND         deterministic or poisson (deterministic)\n"
    "  --seed N                of the Poisson arrivals (1)\n"
    "  --source ADDR[,ADDR...] local addresses to connect from, in turn\n"
    "  --close HOW             how a session ends: fin, or reset, which leaves no TIME_WAIT behind (fin)\n"
    "  --text                  a report for people instead of JSON\n"
    "  --help, --version\n";

enum {
    OPTION_URL = 1,
    OPTION_RATE,
    OPTION_DURATION,
    OPTION_WARMUP,
    OPTION_TIMEOUT,
    OPTION_SESSIONS,
    OPTION_SESSION_REQUESTS,
    OPTION_ARRIVALS,
    OPTION_SEED,
    OPTION_SOURCE,
    OPTION_CLOSE,
    OPTION_TEXT,
    OPTION_HELP,
    OPTION_VERSION,
};

static const struct option long_options[] = {
    {"url", required_argument, NULL, OPTION_URL},
    {"rate", required_argument, NULL, OPTION_RATE},
    {"duration", required_argument, NULL, OPTION_DURATION},
    {"warmup", required_argument, NULL, OPTION_WARMUP},
    {"timeout", required_argument, NULL, OPTION_TIMEOUT},
    {"sessions", required_argument, NULL, OPTION_SESSIONS},
    {"session-requests", required_argument, NULL, OPTION_SESSION_REQUESTS},
    {"arrivals", required_argument, NULL, OPTION_ARRIVALS},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"source", required_argument, NULL, OPTION_SOURCE},
    {"close", required_argument, NULL, OPTION_CLOSE},
    {"text", no_argument, NULL, OPTION_TEXT},
    {"help", no_argument, NULL, OPTION_HELP},
    {"version", no_argument, NULL, OPTION_VERSION},
    {NULL, 0, NULL, 0},
};

/* Reads a number that lies in [low, high], or in (low, high] when `low_excluded`. */
static bool parse_number(const char *text, double low, bool low_excluded, double high, double *number)
{
    char *end;
    *number = strtod(text, &end);
    return end != text && *end == '\0' && (low_excluded ? *number > low : *number >= low) && *number <= high;
}

static bool parse_integer(const char *text, uint64_t low, uint64_t high, uint64_t *number)
{
    if (*text == '\0' || strlen(text) > 18 || text[strspn(text, "0123456789")] != '\0')
        return false;
    *number = strtoull(text, NULL, 10);
    return *number >= low && *number <= high;
}

/* Takes one option. Returns NULL, or what was expected instead of its value. */
static const char *take(struct options *options, int option, const char *value)
{
    uint64_t integer = 0;

    switch (option) {
    case OPTION_URL:
        options->url = value;
        return NULL;
    case OPTION_RATE:
        return parse_number(value, 0, true, 1e7, &options->rate_rps)
                   ? NULL
                   : "requests per second, more than 0 and at most 10,000,000";
    case OPTION_DURATION:
        return parse_number(value, 0, true, 1e6, &options->duration_s)
                   ? NULL
                   : "seconds, more than 0 and at most 1,000,000";
    case OPTION_WARMUP:
        return parse_number(value, 0, false, 1e6, &options->warmup_s) ? NULL : "seconds, from 0 to 1,000,000";
    case OPTION_TIMEOUT:
        return parse_number(value, 0, true, 3600, &options->timeout_s)
                   ? NULL
                   : "seconds, more than 0 and at most 3,600";
    case OPTION_SESSIONS:
        options->sessions_file = value;
        return NULL;
    case OPTION_SESSION_REQUESTS:
        if (!parse_integer(value, 1, 1000000, &integer))
            return "an integer from 1 to 1,000,000";
        options->session_requests = (uint32_t)integer;
        return NULL;
    case OPTION_ARRIVALS:
        options->poisson = strcmp(value, "poisson") == 0;
        return options->poisson || strcmp(value, "deterministic") == 0 ? NULL : "deterministic or poisson";
    case OPTION_SEED:
        return parse_integer(value, 0, UINT64_MAX, &options->seed) ? NULL : "an integer of at most 18 digits";
    case OPTION_SOURCE:
        options->sources = value;
        return NULL;
    case OPTION_CLOSE:
        options->close_with_reset = strcmp(value, "reset") == 0;
        return options->close_with_reset || strcmp(value, "fin") == 0 ? NULL : "fin or reset";
    default: /* OPTION_TEXT; help and version are not taken */
        options->text = true;
        return NULL;
    }
}

/* Returns what is wrong with the options together, NULL when nothing. */
static const char *find_contradiction(const struct options *options, bool requests_given)
{
    if (options->url == NULL)
        return "--url is missing: expected http://HOST:PORT[/PATH]";
    if (!(options->rate_rps > 0))
        return "--rate is missing: expected requests per second";
    if (!(options->duration_s > 0))
        return "--duration is missing: expected seconds";
    if (options->warmup_s >= options->duration_s)
        return "--warmup: expected less than --duration, or nothing would be measured";
    if (options->sessions_file != NULL && requests_given)
        return "--session-requests: a session log says itself how many requests its sessions have";
    return NULL;
}

enum options_result options_parse(struct options *options, int argc, char **argv, char *error,
                                  size_t error_size)
{
    bool requests_given = false;

    *options = (struct options){.timeout_s = 10, .session_requests = 1, .seed = 1};
    opterr = 0; /* the messages are ours */
    optind = 1;
    for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        if (option == OPTION_HELP) {
            fputs(usage, stdout);
            return OPTIONS_DONE;
        }
        if (option == OPTION_VERSION) {
            puts("trimtab-load " TRIMTAB_VERSION);
            return OPTIONS_DONE;
        }
        if (option == '?') {
            snprintf(error, error_size,
                     "%s: unknown option, or a value is missing or too much; see trimtab-load --help",
                     argv[optind - 1]);
            return OPTIONS_BAD;
        }
        requests_given = requests_given || option == OPTION_SESSION_REQUESTS;
        const char *expected = take(options, option, optarg);
        if (expected != NULL) {
            const char *name = long_options[option - 1].name;
            snprintf(error, error_size, "--%s %s: expected %s", name, optarg, expected);
            return OPTIONS_BAD;
        }
    }

    if (argc - optind != 1 || strcmp(argv[optind], "open") != 0) {
        snprintf(error, error_size, "%s: expected one mode, open; see trimtab-load --help",
                 optind < argc ? argv[argc - 1] : "the mode is missing");
        return OPTIONS_BAD;
    }
    const char *contradiction = find_contradiction(options, requests_given);
    if (contradiction != NULL) {
        snprintf(error, error_size, "%s", contradiction);
        return OPTIONS_BAD;
    }
    return OPTIONS_RUN;
}
