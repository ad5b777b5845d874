/*
 * The report for people; see report.h.
 */
#include "report.h"

#include <inttypes.h>

void report_progress_text(FILE *out, const struct progress *progress)
{
    fprintf(out,
            "%6.1f s  %6" PRIu64 " sessions open  %8.0f replies/s  %9.1f Mbps  p50 %7" PRIu64
            " us  p99 %7" PRIu64 " us  %" PRIu64 " timed out\n",
            progress->elapsed_s, progress->sessions_open,
            report_rate(progress->interval_replies, progress->interval_s),
            report_mbps(progress->interval_bytes, progress->interval_s),
            histogram_quantile(progress->reply_us, 0.5), histogram_quantile(progress->reply_us, 0.99),
            progress->requests_timed_out);
}

static void write_latency(FILE *out, const char *name, const struct histogram *latency)
{
    fprintf(out, "  %-10s %10.0f %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 "\n",
            name, histogram_mean(latency), histogram_quantile(latency, 0.5), histogram_quantile(latency, 0.9),
            histogram_quantile(latency, 0.99), histogram_quantile(latency, 0.999), histogram_max(latency));
}

static void write_failure(void *context, const char *name, uint64_t count)
{
    fprintf(context, "  %-20s %12" PRIu64 "\n", name, count);
}

static void write_size_classes(FILE *out, const struct size_classes *classes)
{
    fprintf(out, "\nby file size %12s %12s %14s %15s %12s %12s\n", "asked", "replied", "timeout unread",
            "timeout read", "failed", "abandoned");
    for (unsigned i = 0; i < classes->count; i++) {
        const struct size_class *class = &classes->classes[i];
        fprintf(out,
                "%10" PRIu64 " B %12" PRIu64 " %12" PRIu64 " %14" PRIu64 " %15" PRIu64 " %12" PRIu64
                " %12" PRIu64 "\n",
                class->size_bytes, size_class_asked(class), class->outcomes[OUTCOME_REPLIED],
                class->outcomes[OUTCOME_TIMED_OUT_BEFORE_READ], class->outcomes[OUTCOME_TIMED_OUT_AFTER_READ],
                class->outcomes[OUTCOME_FAILED], class->outcomes[OUTCOME_ABANDONED]);
    }
}

static void write_reasons(FILE *out, const struct health *health)
{
    for (unsigned i = 0; i < health->reason_count; i++)
        fprintf(out, "  %s\n", health->reasons[i]);
}

void report_result_text(FILE *out, const struct result *result)
{
    const struct options *options = result->options;
    const struct account *account = result->account;
    const struct health *health = result->health;
    const uint64_t *ends = account->session_ends;
    const uint64_t *requests = account->requests;

    if (options->mode == MODE_OPEN)
        fprintf(out, "\n%s: %g requests/s offered", options->url, options->rate_rps);
    else
        fprintf(out, "\n%s: %" PRIu64 " connections kept busy", options->url, options->connections);
    fprintf(out, " for %g s, timeout %g s%s\n", options->duration_s, options->timeout_s,
            result->interrupted ? ", interrupted" : "");
    fprintf(out, "goodput %.1f Mbps, %.1f replies/s after %g s of warm-up\n",
            report_mbps(account->window_bytes, result->window_s),
            report_rate(account->window_replies, result->window_s), options->warmup_s);
    fprintf(out,
            "\nsessions: %" PRIu64 " offered, %" PRIu64 " completed, %" PRIu64
            " timed out connecting, %" PRIu64 " timed out later, %" PRIu64 " failed, %" PRIu64
            " interrupted, %" PRIu64 " dropped\n",
            account->sessions_offered, ends[SESSION_COMPLETED], ends[SESSION_TIMED_OUT_CONNECT],
            ends[SESSION_TIMED_OUT], ends[SESSION_FAILED], ends[SESSION_INTERRUPTED],
            account_dropped_sessions(account));
    fprintf(out,
            "requests: %" PRIu64 " offered, %" PRIu64 " replied, %" PRIu64
            " timed out before the server read them, %" PRIu64 " timed out after, %" PRIu64
            " failed, %" PRIu64 " abandoned, %" PRIu64 " dropped\n",
            account->requests_offered, requests[OUTCOME_REPLIED], requests[OUTCOME_TIMED_OUT_BEFORE_READ],
            requests[OUTCOME_TIMED_OUT_AFTER_READ], requests[OUTCOME_FAILED], requests[OUTCOME_ABANDONED],
            account->requests_dropped);
    if (account->sessions_slow > 0 || account->connections_reopened > 0)
        fprintf(out,
                "of the sessions %" PRIu64 " had slow clients; %" PRIu64 " further connections were opened\n",
                account->sessions_slow, account->connections_reopened);
    if (account->replies_verified > 0)
        fprintf(out, "contents of %" PRIu64 " replies verified\n", account->replies_verified);
    if (account->handshakes + account->handshakes_failed > 0)
        fprintf(out,
                "TLS handshakes: %" PRIu64 " completed, %" PRIu64 " of them with one of %" PRIu64
                " sessions offered again; %" PRIu64 " failed\n",
                account->handshakes, account->handshakes_resumed, account->sessions_resumption_offered,
                account->handshakes_failed);
    if (requests[OUTCOME_FAILED] > 0) {
        fprintf(out, "\nfailures\n");
        account_each_failure(account, write_failure, out);
    }
    fprintf(out, "\nlatency, us %11s %10s %10s %10s %10s %10s\n", "mean", "p50", "p90", "p99", "p99.9",
            "max");
    write_latency(out, "connect", account->connect_us);
    if (account->handshakes > 0)
        write_latency(out, "handshake", account->handshake_us);
    write_latency(out, "first byte", account->first_byte_us);
    write_latency(out, "reply", account->reply_us);
    write_size_classes(out, &account->size_classes);
    if (options->mode == MODE_CLOSED) {
        fprintf(out, "\ngenerator: %s; %.0f %% of one CPU\n", health_verdict(health),
                health->cpu_share * 100);
        write_reasons(out, health);
        return;
    }
    fprintf(out,
            "\ngenerator: %s; %" PRIu64 " arrivals late, lateness p99 %" PRIu64 " us, at most %" PRIu64
            " us; %.0f %% of one CPU\n",
            health_verdict(health), account->late_arrivals, health->lateness_p99_us, health->lateness_max_us,
            health->cpu_share * 100);
    write_reasons(out, health);
}
