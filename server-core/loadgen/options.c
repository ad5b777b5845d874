/*
 * See options.h. Every option is a row of one table, from which it is read, checked and described.
 */
#include "options.h"

#include "url.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum value_kind { VALUE_TEXT, VALUE_NUMBER, VALUE_INTEGER, VALUE_CHOICE, VALUE_PAIR, VALUE_FLAG };

/* The modes that an option belongs to. */
enum {
    IN_OPEN = 1U << MODE_OPEN,
    IN_CLOSED = 1U << MODE_CLOSED,
    IN_BOTH = IN_OPEN | IN_CLOSED,
    IN_ALL = IN_BOTH | 1U << MODE_MERGE,
    HTTP_ONLY = 1U << 8, /* beside them: means nothing to a server that takes statements */
};

#define CHOICES_MAX 4

struct row {
    const char *name;
    const char *argument; /* its name in the help text, NULL for a flag */
    const char *help;
    unsigned modes;
    enum value_kind kind;
    size_t place; /* in struct options */
    double low, high;
    bool low_excluded;
    const char *expected; /* what a number should have been */
    const char *choices[CHOICES_MAX];
};

#define PLACE(member) .place = offsetof(struct options, member)
#define PAIR          "two numbers with a comma between, each more than 0 and at most 1,000,000"
#define SECONDS       "seconds, more than 0 and at most 1,000,000"
#define TIMEOUT       "seconds, more than 0 and at most 3,600"

/* The rows stand in the order of the help text. */
static const struct row rows[] = {
    {"url", "URL", "where to; its path is asked for when there is no session log", IN_BOTH, VALUE_TEXT,
     PLACE(url)},
    {"rate", "RPS", "requests offered a second", IN_OPEN, VALUE_NUMBER, PLACE(rate_rps), 0, 1e7, true,
     .expected = "requests per second, more than 0 and at most 10,000,000"},
    {"connections", "N", "connections that are kept busy", IN_CLOSED, VALUE_INTEGER, PLACE(connections), 1,
     CONNECTIONS_MAX, .expected = "an integer from 1 to 1,000,000"},
    {"duration", "S", "how long new requests are made", IN_BOTH, VALUE_NUMBER, PLACE(duration_s), 0, 1e6,
     true, .expected = SECONDS},
    {"warmup", "S", "beginning that goodput, rates and latencies leave out (0)", IN_BOTH, VALUE_NUMBER,
     PLACE(warmup_s), 0, 1e6, .expected = "seconds, from 0 to 1,000,000"},
    {"timeout", "S", "open: of the whole session; closed: of each request (10)", IN_BOTH, VALUE_NUMBER,
     PLACE(timeout_s), 0, 3600, true, .expected = TIMEOUT},
    {"connect-timeout", "S", "of the connect (as --timeout)", IN_BOTH, VALUE_NUMBER, PLACE(connect_timeout_s),
     0, 3600, true, .expected = TIMEOUT},
    {"sessions", "FILE", "session log in httperf's wsesslog form", IN_BOTH, VALUE_TEXT, PLACE(sessions_file)},
    {"session-requests", "N", "without a log: requests in a session (open: 1, closed: no end)",
     IN_BOTH | HTTP_ONLY, VALUE_INTEGER, PLACE(session_requests), 1, 1e6,
     .expected = "an integer from 1 to 1,000,000"},
    {"arrivals", "KIND", "deterministic, poisson or trace (deterministic)", IN_OPEN, VALUE_CHOICE,
     PLACE(arrivals), .choices = {"deterministic", "poisson", "trace"}},
    {"trace", "FILE", "moments of arrivals, a line each, in seconds", IN_OPEN, VALUE_TEXT, PLACE(trace_file)},
    {"active-off", "SHAPE,SCALE", "Weibull pauses within bursts, in seconds", IN_OPEN, VALUE_PAIR,
     PLACE(active_off), 0, 1e6, true, .expected = PAIR},
    {"inactive-off", "SHAPE,MIN", "Pareto pauses between bursts, in seconds", IN_OPEN, VALUE_PAIR,
     PLACE(inactive_off), 0, 1e6, true, .expected = PAIR},
    {"burst", "SHAPE,MIN", "without a log: Pareto number of requests in a burst", IN_OPEN | HTTP_ONLY,
     VALUE_PAIR, PLACE(burst), 0, 1e6, true, .expected = PAIR},
    {"slow-share", "SHARE", "sessions that read slowly, 0 to 1 (0)", IN_BOTH | HTTP_ONLY, VALUE_NUMBER,
     PLACE(slow_share), 0, 1, .expected = "a share from 0 to 1"},
    {"slow-pace", "BYTES", "bytes per second that they read (7000)", IN_BOTH | HTTP_ONLY, VALUE_NUMBER,
     PLACE(slow_pace), 1, 1e9, .expected = "bytes per second, from 1 to 1,000,000,000"},
    {"slow-window", "BYTES", "their receive buffer (8192)", IN_BOTH | HTTP_ONLY, VALUE_INTEGER,
     PLACE(slow_window_bytes), 1024, 1e9, .expected = "an integer from 1,024 to 1,000,000,000"},
    {"seed", "N", "of everything random (1)", IN_BOTH, VALUE_INTEGER, PLACE(seed), 0, 1e18,
     .expected = "an integer of at most 18 digits"},
    {"http", "VERSION", "1.1, 1.0 or 2 (1.1)", IN_BOTH | HTTP_ONLY, VALUE_CHOICE, PLACE(http),
     .choices = {"1.1", "1.0", "2"}},
    {"streams", "N", "http 2: requests of a session under way at once (100)", IN_BOTH | HTTP_ONLY,
     VALUE_INTEGER, PLACE(streams), 1, STREAMS_MAX, .expected = "an integer from 1 to 1,000"},
    {"connection", "KIND", "keep-alive, or close: a connection for each request (keep-alive)",
     IN_BOTH | HTTP_ONLY, VALUE_CHOICE, PLACE(connection), .choices = {"keep-alive", "close"}},
    {"close", "HOW", "how connections end: fin, or reset, which leaves no TIME_WAIT behind (fin)", IN_BOTH,
     VALUE_CHOICE, PLACE(close), .choices = {"fin", "reset"}},
    {"destination", "HOST[:PORT],...", "addresses to connect to instead of the URL's, in turn", IN_BOTH,
     VALUE_TEXT, PLACE(destinations)},
    {"source", "ADDR[,ADDR...]", "local addresses to connect from, in turn", IN_BOTH, VALUE_TEXT,
     PLACE(sources)},
    {"tls-version", "VERSION", "https: 1.2, 1.3 or any of them (any)", IN_BOTH, VALUE_CHOICE,
     PLACE(tls_version), .choices = {"any", "1.2", "1.3"}},
    {"tls-ciphers", "LIST", "https: OpenSSL's names, for --tls-version (OpenSSL's choice)", IN_BOTH,
     VALUE_TEXT, PLACE(tls_ciphers)},
    {"tls-resumed", "SHARE", "https: connections that offer an earlier session, 0 to 1 (0)", IN_BOTH,
     VALUE_NUMBER, PLACE(tls_resumed), 0, 1, .expected = "a share from 0 to 1"},
    {"tls-name", "NAME", "https: server name to ask for (the URL's host)", IN_BOTH, VALUE_TEXT,
     PLACE(tls_name)},
    {"tls-ca", "FILE", "https: authorities to check the certificate against (it is not checked)", IN_BOTH,
     VALUE_TEXT, PLACE(tls_ca)},
    {"conditional-share", "SHARE", "requests that ask for a changed file only, 0 to 1 (0)",
     IN_BOTH | HTTP_ONLY, VALUE_NUMBER, PLACE(conditional_share), 0, 1, .expected = "a share from 0 to 1"},
    {"verify", "WHAT", "contents of replies: none, sample (one in 16) or all (none)", IN_BOTH | HTTP_ONLY,
     VALUE_CHOICE, PLACE(verify), .choices = {"none", "sample", "all"}},
    {"processes", "N", "worker processes that share the load (1)", IN_BOTH, VALUE_INTEGER, PLACE(processes),
     1, PROCESSES_MAX, .expected = "an integer from 1 to 1,024"},
    {"cpus", "LIST", "CPUs for the processes, in turn, such as 0-3,8", IN_BOTH, VALUE_TEXT, PLACE(cpus)},
    {"machines", "N", "machines that share the load, each told the same but --machine (1)", IN_BOTH,
     VALUE_INTEGER, PLACE(machines), 1, MACHINES_MAX, .expected = "an integer from 1 to 256"},
    {"machine", "I", "which of them this is, from 0 (0)", IN_BOTH, VALUE_INTEGER, PLACE(machine), 0,
     MACHINES_MAX - 1, .expected = "an integer from 0 to 255"},
    {"start-at", "NS", "when to begin, by CLOCK_MONOTONIC of this machine (at once)", IN_BOTH, VALUE_INTEGER,
     PLACE(start_at_ns), 1, 1e18, .expected = "nanoseconds, an integer of at most 18 digits"},
    {"text", NULL, "a report for people instead of JSON", IN_ALL, VALUE_FLAG, PLACE(text)},
};

enum { ROW_COUNT = sizeof(rows) / sizeof(*rows) };

static const char *const mode_names[] = {
    [MODE_OPEN] = "open", [MODE_CLOSED] = "closed", [MODE_MERGE] = "merge"};

const char *mode_name(enum mode mode)
{
    return mode_names[mode];
}

bool mode_of(const char *name, enum mode *mode)
{
    for (unsigned i = 0; i < sizeof(mode_names) / sizeof(*mode_names); i++)
        if (strcmp(name, mode_names[i]) == 0) {
            *mode = i;
            return true;
        }
    return false;
}

static void print_help(void)
{
    puts("usage: trimtab-load open   --url http[s]://HOST:PORT[/PATH] --rate RPS --duration S [OPTION]...\n"
         "       trimtab-load closed --url http[s]://HOST:PORT[/PATH] --connections N --duration S "
         "[OPTION]...\n"
         "       trimtab-load merge  [--text] FILE...\n"
         "\n"
         "Offers load to an HTTP server, or to a MariaDB server: mariadb://USER@HOST:PORT/DATABASE, with a\n"
         "session log of statements. open: sessions arrive at their rate whatever the server does. closed: "
         "every\n"
         "connection asks again as soon as it has its reply. merge: adds up the results of generators that\n"
         "ran at the same time.\n"
         "Prints one JSON document a line: progress every second, then the result.\n");
    for (unsigned i = 0; i < ROW_COUNT; i++) {
        unsigned modes = rows[i].modes & IN_ALL;
        char left[64];
        snprintf(left, sizeof(left), "--%s %s", rows[i].name,
                 rows[i].argument == NULL ? "" : rows[i].argument);
        printf("  %-29s %s%s\n", left,
               modes == IN_OPEN     ? "open: "
               : modes == IN_CLOSED ? "closed: "
                                    : "",
               rows[i].help);
    }
    puts("  --help                        prints this help\n"
         "  --version                     prints the version");
}

static bool parse_number(const struct row *row, const char *text, double *number)
{
    char *end;
    *number = strtod(text, &end);
    return end != text && *end == '\0' && (row->low_excluded ? *number > row->low : *number >= row->low) &&
           *number <= row->high;
}

static bool parse_integer(const struct row *row, const char *text, uint64_t *number)
{
    if (*text == '\0' || strlen(text) > 18 || text[strspn(text, "0123456789")] != '\0')
        return false;
    *number = strtoull(text, NULL, 10);
    return *number >= (uint64_t)row->low && *number <= (uint64_t)row->high;
}

static bool parse_pair(const struct row *row, const char *text, struct distribution *pair)
{
    char first[32];
    const size_t length = strcspn(text, ",");

    if (length >= sizeof(first))
        return false;
    snprintf(first, sizeof(first), "%.*s", (int)length, text);
    return text[length] == ',' && parse_number(row, first, &pair->shape) &&
           parse_number(row, text + length + 1, &pair->scale);
}

static bool parse_choice(const struct row *row, const char *text, unsigned *choice)
{
    for (unsigned i = 0; i < CHOICES_MAX && row->choices[i] != NULL; i++)
        if (strcmp(text, row->choices[i]) == 0) {
            *choice = i;
            return true;
        }
    return false;
}

/* Reads the value of one option. Returns false when it is not as expected. */
static bool take(struct options *options, const struct row *row, const char *value)
{
    void *place = (char *)options + row->place;

    switch (row->kind) {
    case VALUE_NUMBER:
        return parse_number(row, value, place);
    case VALUE_INTEGER:
        return parse_integer(row, value, place);
    case VALUE_CHOICE:
        return parse_choice(row, value, place);
    case VALUE_PAIR:
        return parse_pair(row, value, place);
    case VALUE_TEXT:
        *(const char **)place = value;
        return true;
    case VALUE_FLAG:
        *(bool *)place = true;
        return true;
    }
    return false;
}

/* Puts what was expected instead of a refused value into `error`; of a long value its beginning. */
static void explain(const struct row *row, const char *value, char *error, size_t error_size)
{
    char expected[160] = "";

    for (unsigned i = 0; row->kind == VALUE_CHOICE && i < CHOICES_MAX && row->choices[i] != NULL; i++) {
        const size_t used = strlen(expected);

        snprintf(expected + used, sizeof(expected) - used, "%s%s", i == 0 ? "" : " or ", row->choices[i]);
    }
    snprintf(error, error_size, "--%s %.100s: expected %s", row->name, value,
             row->kind == VALUE_CHOICE ? expected : row->expected);
}

/* Returns what is wrong with the options of TLS, NULL when nothing. */
static const char *find_tls_contradiction(const struct options *options)
{
    bool given = options->tls_version != TLS_ANY || options->tls_ciphers != NULL ||
                 options->tls_resumed > 0 || options->tls_name != NULL || options->tls_ca != NULL;

    if (given && url_scheme_of(options->url) != URL_HTTPS)
        return "--tls-version and the other options of TLS: expected a --url that begins with https://";
    if (options->tls_ciphers != NULL && options->tls_version == TLS_ANY)
        return "--tls-ciphers: goes with --tls-version 1.2 or 1.3, which have different ones";
    return NULL;
}

/* Returns what does not go with the version of HTTP, NULL when nothing. */
static const char *find_http_contradiction(const struct options *options)
{
    if (options->http != HTTP_2)
        return options->streams > 0 ? "--streams: goes with --http 2" : NULL;
    if (options->connection == CONNECTION_CLOSE)
        return "--connection close: goes with --http 1.1 or 1.0; over HTTP/2 all requests share a connection";
    if (options->slow_share > 0)
        return "--slow-share: goes with --http 1.1 or 1.0; slow clients speak no HTTP/2 here";
    return NULL;
}

/* Says whether the options name a server that takes statements. */
static bool to_mariadb(const struct options *options)
{
    return options->url != NULL && url_scheme_of(options->url) == URL_MARIADB;
}

/* Returns what is wrong with the options together, NULL when nothing. */
static const char *find_contradiction(const struct options *options)
{
    if (options->mode == MODE_MERGE)
        return options->file_count > 0 ? NULL : "merge: expected the names of files that hold results";
    if (options->url == NULL)
        return "--url is missing: expected http://HOST:PORT[/PATH], https, or "
               "mariadb://USER@HOST:PORT/DATABASE";
    if ((options->arrivals == ARRIVALS_TRACE) != (options->trace_file != NULL))
        return "--trace: goes with --arrivals trace, and that with it";
    if (options->mode == MODE_OPEN && !(options->rate_rps > 0) && options->trace_file == NULL)
        return "--rate is missing: expected requests per second";
    if (options->mode == MODE_CLOSED && options->connections == 0)
        return "--connections is missing: expected an integer from 1 to 1,000,000";
    if (!(options->duration_s > 0))
        return "--duration is missing: expected seconds";
    if (options->warmup_s >= options->duration_s)
        return "--warmup: expected less than --duration, or nothing would be measured";
    if (options->sessions_file != NULL && options->session_requests > 0)
        return "--session-requests: a session log says itself how many requests its sessions have";
    if (options->sessions_file != NULL && options->burst.shape > 0)
        return "--burst: a session log says itself what its bursts are";
    if (to_mariadb(options) && options->sessions_file == NULL)
        return "--sessions is missing: expected a session log with statements for the MariaDB server";
    if (options->mode == MODE_CLOSED && options->processes * options->machines > options->connections)
        return "--processes: expected at most as many as --connections, or some would have nothing to do";
    if (options->machine >= options->machines)
        return "--machine: expected less than --machines, as it counts from 0";
    const char *contradiction = find_http_contradiction(options);
    return contradiction != NULL ? contradiction : find_tls_contradiction(options);
}

/* Takes the words that are no options: the mode, and the files of merge. */
static bool take_words(struct options *options, int count, char **words, char *error, size_t error_size)
{
    bool known = count > 0 && mode_of(words[0], &options->mode);

    if (known && options->mode == MODE_MERGE) {
        options->files = words + 1;
        options->file_count = count - 1;
        return true;
    }
    if (!known || count > 1)
        snprintf(error, error_size, "%s: expected one mode, open, closed or merge; see trimtab-load --help",
                 count > 0 ? words[count - 1] : "the mode is missing");
    return known && count == 1;
}

enum { OPTION_HELP = ROW_COUNT + 1, OPTION_VERSION };

/* getopt's table: val is the row's index + 1, as 0 and '?' are taken. */
static void make_getopt_table(struct option table[static ROW_COUNT + 3])
{
    for (int i = 0; i < ROW_COUNT; i++)
        table[i] = (struct option){rows[i].name, rows[i].kind == VALUE_FLAG ? no_argument : required_argument,
                                   NULL, i + 1};
    table[ROW_COUNT] = (struct option){"help", no_argument, NULL, OPTION_HELP};
    table[ROW_COUNT + 1] = (struct option){"version", no_argument, NULL, OPTION_VERSION};
    table[ROW_COUNT + 2] = (struct option){NULL, 0, NULL, 0};
}

/* Says whether an option was given that belongs neither to the mode nor to such a server; `error` then says
 * which. */
static bool find_stranger(const bool given[static ROW_COUNT], const struct options *options, char *error,
                          size_t error_size)
{
    for (unsigned i = 0; i < ROW_COUNT; i++) {
        bool of_mode = (rows[i].modes & (1U << options->mode)) != 0;
        if (!given[i] || (of_mode && !((rows[i].modes & HTTP_ONLY) != 0 && to_mariadb(options))))
            continue;
        if (of_mode)
            snprintf(error, error_size, "--%s: means nothing to a MariaDB server", rows[i].name);
        else
            snprintf(error, error_size, "--%s: is not an option of trimtab-load %s", rows[i].name,
                     mode_name(options->mode));
        return true;
    }
    return false;
}

enum options_result options_parse(struct options *options, int argc, char **argv, char *error,
                                  size_t error_size)
{
    struct option table[ROW_COUNT + 3];
    bool given[ROW_COUNT] = {false};

    _Static_assert(OPTION_VERSION < '?', "the index of a row must not be mistaken for getopt's complaint");
    *options = (struct options){.timeout_s = 10,
                                .seed = 1,
                                .processes = 1,
                                .machines = 1,
                                .slow_pace = 7000,
                                .slow_window_bytes = 8192};
    make_getopt_table(table);
    opterr = 0; /* the messages are ours */
    optind = 1;
    for (int option; (option = getopt_long(argc, argv, "", table, NULL)) != -1;) {
        if (option == OPTION_HELP) {
            print_help();
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
        given[option - 1] = true;
        if (!take(options, &rows[option - 1], optarg)) {
            explain(&rows[option - 1], optarg, error, error_size);
            return OPTIONS_BAD;
        }
    }
    if (!take_words(options, argc - optind, argv + optind, error, error_size))
        return OPTIONS_BAD;
    if (find_stranger(given, options, error, error_size))
        return OPTIONS_BAD;
    const char *contradiction = find_contradiction(options);
    if (contradiction != NULL) {
        snprintf(error, error_size, "%s", contradiction);
        return OPTIONS_BAD;
    }
    if (options->streams == 0)
        options->streams = STREAMS_DEFAULT;
    if (options->connect_timeout_s == 0)
        options->connect_timeout_s = options->timeout_s;
    if (options->mode == MODE_OPEN && options->session_requests == 0)
        options->session_requests = 1;
    return OPTIONS_RUN;
}
