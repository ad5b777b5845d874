/*
 * trimtab-load: a load generator for HTTP and MariaDB servers, open-loop and closed-loop.
 * docs/internals/load-generator.md describes it from the outside; the walk through the source begins here:
 *
 *     options.c, url.c   the command line
 *     sessions.c         what is asked for, and in what order: sessions of requests (request_kind.c)
 *     workers.c          the processes that do it, and the one that watches them
 *     load_loop.c        the loop that starts sessions: at the moments of arrivals.c, or as others end
 *     open_sessions.c    what happens to the sessions that are open
 *     connection.c       the life of one: its socket (network.c), its timeouts (timers.c)
 *     transport.c, tls.c how its bytes travel
 *     exchange.c         one request and its reply (reply.c, content.c)
 *     sql_exchange.c     the same with a MariaDB server (sql_reply.c)
 *     accounting.c       what became of every request (size_classes.c), and how long it took
 *     health.c           whether the generator itself was the limit
 *     report.c           JSON lines; report_text.c the report for people
 *     merge.c            results of several generators (result_file.c) added up
 */
#include "common/affinity.h"
#include "common/clock.h"
#include "http2.h"
#include "memory.h"
#include "merge.h"
#include "report.h"
#include "sql_request.h"
#include "tls.h"
#include "url.h"
#include "workers.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_CANNOT_RUN = 1, EXIT_BAD_USAGE = 2, EXIT_SIGNAL_BASE = 128 };

static const char NOT_WRITTEN[] = "the result could not be written to the standard output";

static volatile sig_atomic_t signal_number;

static void note_signal(int number)
{
    signal_number = number;
}

/* The first signal ends the run with a result; a second one, with its default action, the process. They are
 * blocked until somebody waits with the mask that this function leaves in *waiting_mask. */
static void catch_signals(sigset_t *waiting_mask)
{
    struct sigaction action = {.sa_handler = note_signal, .sa_flags = SA_RESETHAND};
    sigset_t ours;

    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigprocmask(SIG_BLOCK, &ours, waiting_mask);
    sigdelset(waiting_mask, SIGINT);
    sigdelset(waiting_mask, SIGTERM);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static int complain(int status, const char *sentence)
{
    fprintf(stderr, "trimtab-load: %s\n", sentence);
    return status;
}

/* Opens a file that an option names. Returns NULL, with a sentence in `error`, when it cannot. */
static FILE *open_input(const char *option, const char *file, char *error, size_t error_size)
{
    FILE *in = fopen(file, "re");

    if (in == NULL)
        snprintf(error, error_size, "%s %s: cannot be opened: %s", option, file, strerror(errno));
    return in;
}

/* Reads the trace of arrivals, if one is wanted; without --rate it sets the rate. */
static bool read_trace(struct arrival_trace *trace, struct options *options, const struct session_plan *plan,
                       char *error, size_t error_size)
{
    if (options->trace_file == NULL)
        return true;
    FILE *in = open_input("--trace", options->trace_file, error, error_size);
    if (in == NULL)
        return false;
    bool ok = arrival_trace_read(trace, in, options->trace_file, error, error_size);
    fclose(in);
    if (ok && options->rate_rps == 0)
        options->rate_rps = arrival_trace_rate(trace) * sessions_mean_length(plan);
    return ok;
}

/* Makes the plan from the session log or, without one, from the URL. */
static bool make_plan(struct session_plan *plan, const struct options *options, const struct url *url,
                      char *error, size_t error_size)
{
    struct request_form form = {
        .authority = url->authority,
        .http_1_0 = options->http == HTTP_1_0,
        .http_2 = options->http == HTTP_2,
        .close = options->connection == CONNECTION_CLOSE,
        .sql = url->scheme == URL_MARIADB,
    };

    if (options->sessions_file == NULL) {
        uint32_t requests = options->session_requests == 0 ? 1 : (uint32_t)options->session_requests;
        if (options->burst.shape > 0)
            sessions_generate(plan, url->path, &form, requests, options->burst.shape, options->burst.scale,
                              options->seed);
        else
            sessions_repeat(plan, url->path, &form, requests);
        return true;
    }
    *plan = (struct session_plan){0};
    if (!form.sql && strcmp(url->path, "/") != 0) {
        snprintf(error, error_size,
                 "--url %s: expected no path, because the session log names what to ask for", options->url);
        return false;
    }
    FILE *in = open_input("--sessions", options->sessions_file, error, error_size);
    if (in == NULL)
        return false;
    bool ok = sessions_read(plan, in, options->sessions_file, &form, error, error_size);
    fclose(in);
    return ok;
}

/* Adds the address that `text`, HOST[:PORT] of a URL with that scheme, stands for. */
static bool add_destination(struct network *network, enum url_scheme scheme, const char *text, char *error,
                            size_t error_size)
{
    struct sockaddr_storage address;
    socklen_t length;
    struct url url;
    char *as_url;

    if (asprintf(&as_url, "%s%s", url_beginning(scheme), text) < 0)
        memory_needed(NULL);
    bool ok = url_parse(&url, as_url, error, error_size) &&
              url_resolve(&url, &address, &length, error, error_size) &&
              network_add_destination(network, &address, length, text, error, error_size);
    free(as_url);
    return ok;
}

/* Adds the addresses that connections go to: those of the option, or else the URL's. */
static bool add_destinations(struct network *network, const struct options *options, const struct url *url,
                             char *error, size_t error_size)
{
    if (options->destinations == NULL)
        return add_destination(network, url->scheme, url->authority, error, error_size);
    char *list = strdup(options->destinations);
    char *rest = list;
    bool ok = list != NULL;
    for (const char *one; ok && (one = strsep(&rest, ",")) != NULL;)
        ok = add_destination(network, url->scheme, one, error, error_size);
    free(list);
    return ok;
}

/* Gets everything ready for the workers; `url` is to live as long as they. */
static bool prepare(struct connections *all, struct session_plan *plan, const struct options *options,
                    struct url *url, char *error, size_t error_size)
{
    if (!url_parse(url, options->url, error, error_size) ||
        !make_plan(plan, options, url, error, error_size) ||
        !add_destinations(&all->network, options, url, error, error_size))
        return false;
    all->transport = url->scheme == URL_HTTPS ? &transport_tls : &transport_plain;
    if (url->scheme == URL_HTTPS && (all->tls = tls_new(options, url, error, error_size)) == NULL)
        return false;
    if (options->http == HTTP_2)
        all->http2 = http2_new(url->scheme == URL_HTTPS, url->authority, (unsigned)options->streams);
    if (url->scheme == URL_MARIADB && !sql_make_login(&all->login, url->user, url->path + 1)) {
        snprintf(error, error_size, "--url %s: expected mariadb://USER@HOST[:PORT]/DATABASE", options->url);
        return false;
    }
    all->plan = plan;
    all->connect_timeout_ns = clock_seconds_to_ns(options->connect_timeout_s);
    all->timeout_ns = clock_seconds_to_ns(options->timeout_s);
    all->closed_loop = options->mode == MODE_CLOSED;
    all->endless = all->closed_loop && options->sessions_file == NULL && options->session_requests == 0;
    all->close_each = options->connection == CONNECTION_CLOSE;
    all->active_off = options->active_off;
    all->inactive_off = options->inactive_off;
    all->slow_share = options->slow_share;
    all->slow_pace = options->slow_pace;
    all->slow_window_bytes = (int)options->slow_window_bytes;
    all->conditional_share = options->conditional_share;
    all->verify_every = options->verify == VERIFY_NONE ? 0 : options->verify == VERIFY_SAMPLE ? 16 : 1;
    all->random_state = options->seed;
    all->network.close_with_reset = options->close == CLOSE_RESET;
    if (options->sources != NULL)
        return network_set_sources(&all->network, options->sources, error, error_size);
    network_set_default_sources(&all->network);
    return true;
}

/* Says whether everything could be written to the standard output. */
static bool output_written(void)
{
    return fflush(stdout) == 0 && !ferror(stdout);
}

/* What of the asked load was this machine's: of the connections each machine has every so-manieth. */
static struct options share_of(const struct options *options)
{
    struct options share = *options;

    share.rate_rps /= (double)options->machines;
    share.connections = options->connections / options->machines +
                        (options->machine < options->connections % options->machines ? 1 : 0);
    return share;
}

/* Judges and prints what has been counted. Returns the exit status. */
static int report(const struct options *all_machines, const struct workers_end *end)
{
    const struct options own = share_of(all_machines);
    const struct options *options = &own;
    const struct account *account = end->total;
    struct health health;

    health_judge(&health, account, options->mode == MODE_CLOSED, end->cpu_share);
    uint64_t counted_until_ns = end->end_ns < account->window_end_ns ? end->end_ns : account->window_end_ns;
    /* An early end of all sessions is no early end of the run: nothing more was to come. */
    if (signal_number == 0)
        counted_until_ns = account->window_end_ns;
    struct result result = {
        .options = options,
        .account = account,
        .health = &health,
        .elapsed_s = end->end_ns > end->start_ns ? (double)(end->end_ns - end->start_ns) / 1e9 : 0,
        .window_s = counted_until_ns > account->warmup_end_ns
                        ? (double)(counted_until_ns - account->warmup_end_ns) / 1e9
                        : 0,
        .interrupted = signal_number != 0,
    };
    if (options->text)
        report_result_text(stdout, &result);
    else
        report_result(stdout, &result);
    if (!output_written())
        return complain(EXIT_CANNOT_RUN, NOT_WRITTEN);
    if (!account_balanced(account))
        return complain(EXIT_CANNOT_RUN,
                        "the counts of the result do not add up: this is an error of trimtab-load");
    return signal_number == 0 ? 0 : EXIT_SIGNAL_BASE + signal_number;
}

/* Runs the load and prints the result. Returns the exit status. */
static int run(struct connections *all, const struct options *options, const struct arrival_trace *trace)
{
    static int cpus[AFFINITY_CPU_MAX + 1];
    char error[512];
    sigset_t waiting_mask;
    struct workers_end end;
    struct workers_run load = {
        .options = options,
        .all = all,
        .trace = options->trace_file == NULL ? NULL : trace,
        .cpus = cpus,
        .out = stdout,
        .signal_number = &signal_number,
        .waiting_mask = &waiting_mask,
    };

    if (options->cpus != NULL) {
        load.cpu_count = affinity_parse_list(options->cpus, cpus, AFFINITY_CPU_MAX + 1);
        if (load.cpu_count == 0) {
            snprintf(error, sizeof(error),
                     "--cpus %s: expected CPUs that this process may use, such as 0-3,8", options->cpus);
            return complain(EXIT_BAD_USAGE, error);
        }
    }
    catch_signals(&waiting_mask);
    if (!workers_run(&load, &end, error, sizeof(error)))
        return complain(EXIT_CANNOT_RUN, error);
    int status = report(options, &end);
    free(end.total);
    return status;
}

int main(int argc, char **argv)
{
    static struct connections all;
    struct session_plan plan = {0};
    struct arrival_trace trace = {0};
    struct options options;
    struct url url;
    char error[512];
    int status;

    switch (options_parse(&options, argc, argv, error, sizeof(error))) {
    case OPTIONS_DONE:
        return 0;
    case OPTIONS_BAD:
        return complain(EXIT_BAD_USAGE, error);
    case OPTIONS_RUN:
        break;
    }
    if (options.mode == MODE_MERGE) {
        if (!merge_results(stdout, &options, error, sizeof(error)))
            return complain(EXIT_BAD_USAGE, error);
        return output_written() ? 0 : complain(EXIT_CANNOT_RUN, NOT_WRITTEN);
    }
    network_raise_descriptor_limit();
    if (prepare(&all, &plan, &options, &url, error, sizeof(error)) &&
        read_trace(&trace, &options, &plan, error, sizeof(error)))
        status = run(&all, &options, &trace);
    else
        status = complain(EXIT_BAD_USAGE, error);
    http2_free(all.http2);
    tls_free(all.tls);
    sessions_free(&plan);
    arrival_trace_free(&trace);
    return status;
}
