/*
 * trimtab-load: an open-loop HTTP load generator. docs/load-generator.md describes it from the outside;
 * the walk through the source begins here:
 *
 *     options.c, url.c   the command line
 *     sessions.c         what is asked for
 *     arrivals.c         when sessions begin
 *     open_loop.c        the loop that starts them, on the timers of timers.c
 *     connection.c       the life of one session: its socket (network.c), its timeouts
 *     exchange.c         one request and its reply (reply.c)
 *     accounting.c       what became of every request (size_classes.c), and how long it took
 *     health.c           whether the generator itself was the limit
 *     report.c           JSON lines; report_text.c the report for people
 */
#include "common/clock.h"
#include "open_loop.h"
#include "report.h"
#include "url.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { EXIT_CANNOT_RUN = 1, EXIT_BAD_USAGE = 2, EXIT_SIGNAL_BASE = 128 };

static volatile sig_atomic_t signal_number;

static void note_signal(int number)
{
    signal_number = number;
}

/* The first signal ends the run with a result; a second one, with its default action, the process. */
static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = note_signal, .sa_flags = SA_RESETHAND};

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static int complain(int status, const char *sentence)
{
    fprintf(stderr, "trimtab-load: %s\n", sentence);
    return status;
}

/* Makes the plan from the session log or, without one, from the URL. */
static bool make_plan(struct session_plan *plan, const struct options *options, const struct url *url,
                      char *error, size_t error_size)
{
    if (options->sessions_file == NULL) {
        sessions_repeat(plan, url->path, url->authority, options->session_requests);
        return true;
    }
    *plan = (struct session_plan){0};
    if (strcmp(url->path, "/") != 0) {
        snprintf(error, error_size,
                 "--url %s: expected no path, because the session log names what to ask for", options->url);
        return false;
    }
    FILE *in = fopen(options->sessions_file, "re");
    if (in == NULL) {
        snprintf(error, error_size, "--sessions %s: cannot be opened: %s", options->sessions_file,
                 strerror(errno));
        return false;
    }
    bool ok = sessions_read(plan, in, options->sessions_file, url->authority, error, error_size);
    fclose(in);
    return ok;
}

static bool prepare(struct connections *all, struct session_plan *plan, const struct options *options,
                    char *error, size_t error_size)
{
    struct url url;

    if (!url_parse(&url, options->url, error, error_size) ||
        !make_plan(plan, options, &url, error, error_size) ||
        !url_resolve(&url, &all->network.server, &all->network.address_length, error, error_size))
        return false;
    all->network.close_with_reset = options->close_with_reset;
    if (options->sources != NULL)
        return network_set_sources(&all->network, options->sources, error, error_size);
    network_set_default_sources(&all->network);
    return true;
}

/* Runs the load and prints the result. Returns the exit status. */
static int run(struct connections *all, const struct options *options)
{
    uint64_t start_ns = clock_now_ns();
    uint64_t warmup_end_ns = start_ns + clock_seconds_to_ns(options->warmup_s);
    uint64_t window_end_ns = start_ns + clock_seconds_to_ns(options->duration_s);
    struct open_loop loop = {
        .options = options, .all = all, .out = stdout, .signal_number = &signal_number, .start_ns = start_ns};
    struct health health;

    all->timeout_ns = clock_seconds_to_ns(options->timeout_s);
    connections_init(all);
    account_init(&all->account, warmup_end_ns, window_end_ns);
    catch_signals();
    struct open_loop_end end = open_loop_run(&loop);

    health_judge(&health, &all->account, end.cpu_share);
    uint64_t counted_until_ns = end.end_ns < window_end_ns ? end.end_ns : window_end_ns;
    /* An early end of all sessions is no early end of the run: nothing more was to come. */
    if (signal_number == 0)
        counted_until_ns = window_end_ns;
    struct result result = {
        .options = options,
        .account = &all->account,
        .health = &health,
        .elapsed_s = (double)(end.end_ns - start_ns) / 1e9,
        .window_s = counted_until_ns > warmup_end_ns ? (double)(counted_until_ns - warmup_end_ns) / 1e9 : 0,
        .interrupted = signal_number != 0,
    };
    if (options->text)
        report_result_text(stdout, &result);
    else
        report_result(stdout, &result);

    bool balanced = account_balanced(&all->account);
    connections_free(all);
    account_free(&all->account);
    if (fflush(stdout) != 0 || ferror(stdout))
        return complain(EXIT_CANNOT_RUN, "the result could not be written to the standard output");
    if (!balanced)
        return complain(EXIT_CANNOT_RUN,
                        "the counts of the result do not add up: this is an error of trimtab-load");
    return signal_number == 0 ? 0 : EXIT_SIGNAL_BASE + signal_number;
}

int main(int argc, char **argv)
{
    static struct connections all;
    struct session_plan plan = {0};
    struct options options;
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
    all.plan = &plan;
    all.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (all.epoll < 0)
        return complain(EXIT_CANNOT_RUN, "epoll is not to be had on this system");
    network_raise_descriptor_limit();
    prctl(PR_SET_TIMERSLACK, 1UL); /* 1 ns instead of 50 us: waits end when they should, see prctl(2) */

    if (prepare(&all, &plan, &options, error, sizeof(error)))
        status = run(&all, &options);
    else
        status = complain(EXIT_BAD_USAGE, error);
    sessions_free(&plan);
    close(all.epoll);
    return status;
}
