/*
 * The JSON lines; see report.h.
 */
#include "report.h"

#include "common/json_writer.h"

double report_mbps(uint64_t bytes, double seconds)
{
    return report_rate(bytes, seconds) * 8 / 1e6;
}

double report_rate(uint64_t events, double seconds)
{
    return seconds > 0 ? (double)events / seconds : 0;
}

void report_progress(FILE *out, const struct progress *progress)
{
    struct json_writer json;

    json_begin(&json, out);
    json_open_object(&json);
    json_member_string(&json, "type", "progress");
    json_member_number(&json, "elapsed_s", progress->elapsed_s);
    json_member_unsigned(&json, "sessions_open", progress->sessions_open);
    json_member_unsigned(&json, "requests_replied", progress->requests_replied);
    json_member_unsigned(&json, "requests_timed_out", progress->requests_timed_out);
    json_member_number(&json, "reply_rate_rps",
                       report_rate(progress->interval_replies, progress->interval_s));
    json_member_number(&json, "goodput_mbps", report_mbps(progress->interval_bytes, progress->interval_s));
    json_member_unsigned(&json, "reply_p50_us", histogram_quantile(progress->reply_us, 0.5));
    json_member_unsigned(&json, "reply_p90_us", histogram_quantile(progress->reply_us, 0.9));
    json_member_unsigned(&json, "reply_p99_us", histogram_quantile(progress->reply_us, 0.99));
    json_member_unsigned(&json, "reply_p999_us", histogram_quantile(progress->reply_us, 0.999));
    json_close_object(&json);
    json_end_line(&json);
}

void report_window(FILE *out, const char *edge, double elapsed_s)
{
    struct json_writer json;

    json_begin(&json, out);
    json_open_object(&json);
    json_member_string(&json, "type", "window");
    json_member_string(&json, "edge", edge);
    json_member_number(&json, "elapsed_s", elapsed_s);
    json_close_object(&json);
    json_end_line(&json);
}

static void write_sessions(struct json_writer *json, const struct account *account)
{
    const uint64_t *ends = account->session_ends;

    json_key(json, "sessions");
    json_open_object(json);
    json_member_unsigned(json, "offered", account->sessions_offered);
    json_member_unsigned(json, "started", account->sessions_started);
    json_member_unsigned(json, "completed", ends[SESSION_COMPLETED]);
    json_member_unsigned(json, "timed_out_connect", ends[SESSION_TIMED_OUT_CONNECT]);
    json_member_unsigned(json, "timed_out", ends[SESSION_TIMED_OUT]);
    json_member_unsigned(json, "failed", ends[SESSION_FAILED]);
    json_member_unsigned(json, "interrupted", ends[SESSION_INTERRUPTED]);
    json_member_unsigned(json, "dropped", account_dropped_sessions(account));
    json_member_unsigned(json, "slow", account->sessions_slow);
    json_member_unsigned(json, "reopened", account->connections_reopened);
    json_close_object(json);
}

static void write_outcomes(struct json_writer *json, const uint64_t outcomes[OUTCOME_COUNT])
{
    json_member_unsigned(json, "replied", outcomes[OUTCOME_REPLIED]);
    json_member_unsigned(json, "timed_out_before_read", outcomes[OUTCOME_TIMED_OUT_BEFORE_READ]);
    json_member_unsigned(json, "timed_out_after_read", outcomes[OUTCOME_TIMED_OUT_AFTER_READ]);
    json_member_unsigned(json, "failed", outcomes[OUTCOME_FAILED]);
    json_member_unsigned(json, "abandoned", outcomes[OUTCOME_ABANDONED]);
}

static void write_requests(struct json_writer *json, const struct account *account)
{
    json_key(json, "requests");
    json_open_object(json);
    json_member_unsigned(json, "offered", account->requests_offered);
    write_outcomes(json, account->requests);
    json_member_unsigned(json, "dropped", account->requests_dropped);
    json_close_object(json);
}

static void write_tls(struct json_writer *json, const struct account *account)
{
    json_key(json, "tls");
    json_open_object(json);
    json_member_unsigned(json, "handshakes", account->handshakes);
    json_member_unsigned(json, "offered", account->sessions_resumption_offered);
    json_member_unsigned(json, "resumed", account->handshakes_resumed);
    json_member_unsigned(json, "failed", account->handshakes_failed);
    json_close_object(json);
}

static void write_http2(struct json_writer *json, const struct account *account)
{
    json_key(json, "http2");
    json_open_object(json);
    json_member_unsigned(json, "streams", account->streams);
    json_member_unsigned(json, "most_streams", account->most_streams);
    json_member_unsigned(json, "reset", account->streams_reset);
    json_member_unsigned(json, "goaways", account->goaways);
    json_member_unsigned(json, "asked_again", account->asked_again);
    json_close_object(json);
}

static void write_replies(struct json_writer *json, const struct account *account)
{
    json_key(json, "replies");
    json_open_object(json);
    json_key(json, "by_status");
    json_open_object(json);
    for (unsigned status = 0; status <= STATUS_MAX; status++)
        if (account->replies_by_status[status] > 0) {
            char name[16];
            snprintf(name, sizeof(name), "%u", status);
            json_member_unsigned(json, name, account->replies_by_status[status]);
        }
    json_close_object(json);
    json_member_unsigned(json, "verified", account->replies_verified);
    json_close_object(json);
}

static void write_failure(void *context, const char *name, uint64_t count)
{
    json_member_unsigned(context, name, count);
}

static void write_failures(struct json_writer *json, const struct account *account)
{
    json_key(json, "failures");
    json_open_object(json);
    account_each_failure(account, write_failure, json);
    json_close_object(json);
}

static void write_size_classes(struct json_writer *json, const struct size_classes *classes)
{
    json_member_boolean(json, "size_classes_folded", classes->powers_of_two);
    json_key(json, "size_classes");
    json_open_array(json);
    for (unsigned i = 0; i < classes->count; i++) {
        json_open_object(json);
        json_member_unsigned(json, "size_bytes", classes->classes[i].size_bytes);
        json_member_unsigned(json, "asked", size_class_asked(&classes->classes[i]));
        write_outcomes(json, classes->classes[i].outcomes);
        json_close_object(json);
    }
    json_close_array(json);
}

static void write_percentiles(struct json_writer *json, const char *name, const struct histogram *latency)
{
    json_key(json, name);
    json_open_object(json);
    json_member_unsigned(json, "count", histogram_count(latency));
    json_member_unsigned(json, "sum", histogram_sum(latency));
    json_member_number(json, "mean", histogram_mean(latency));
    json_member_unsigned(json, "p50", histogram_quantile(latency, 0.5));
    json_member_unsigned(json, "p90", histogram_quantile(latency, 0.9));
    json_member_unsigned(json, "p99", histogram_quantile(latency, 0.99));
    json_member_unsigned(json, "p999", histogram_quantile(latency, 0.999));
    json_member_unsigned(json, "max", histogram_max(latency));
    json_close_object(json);
}

static void write_latencies(struct json_writer *json, const struct account *account)
{
    json_key(json, "latency_us");
    json_open_object(json);
    write_percentiles(json, "connect", account->connect_us);
    write_percentiles(json, "handshake", account->handshake_us);
    write_percentiles(json, "first_byte", account->first_byte_us);
    write_percentiles(json, "reply", account->reply_us);
    json_close_object(json);
}

static void write_buckets(struct json_writer *json, const char *name, const struct histogram *histogram)
{
    uint32_t position = 0;
    uint64_t value, count;

    json_key(json, name);
    json_open_array(json);
    while (histogram_next(histogram, &position, &value, &count)) {
        json_open_array(json);
        json_unsigned(json, value);
        json_unsigned(json, count);
        json_close_array(json);
    }
    json_close_array(json);
}

static void write_histograms(struct json_writer *json, const struct account *account)
{
    json_key(json, "histograms");
    json_open_object(json);
    write_buckets(json, "connect", account->connect_us);
    write_buckets(json, "handshake", account->handshake_us);
    write_buckets(json, "first_byte", account->first_byte_us);
    write_buckets(json, "reply", account->reply_us);
    write_buckets(json, "lateness", account->lateness_us);
    json_close_object(json);
}

static void write_window(struct json_writer *json, const struct result *result)
{
    json_key(json, "window");
    json_open_object(json);
    json_member_number(json, "seconds", result->window_s);
    json_member_unsigned(json, "replies", result->account->window_replies);
    json_member_unsigned(json, "bytes", result->account->window_bytes);
    json_member_unsigned(json, "due", result->account->window_due);
    json_member_unsigned(json, "handshakes", result->account->window_handshakes);
    json_close_object(json);
}

static void write_health(struct json_writer *json, const struct health *health, const struct account *account)
{
    json_key(json, "health");
    json_open_object(json);
    json_member_string(json, "verdict", health_verdict(health));
    json_key(json, "reasons");
    json_open_array(json);
    for (unsigned i = 0; i < health->reason_count; i++)
        json_string(json, health->reasons[i]);
    json_close_array(json);
    json_member_unsigned(json, "late_arrivals", account->late_arrivals);
    json_member_unsigned(json, "lateness_p99_us", health->lateness_p99_us);
    json_member_unsigned(json, "lateness_max_us", health->lateness_max_us);
    json_member_unsigned(json, "dropped_for_ports", account->sessions_dropped[DROP_PORTS]);
    json_member_unsigned(json, "dropped_for_descriptors", account->sessions_dropped[DROP_DESCRIPTORS]);
    json_member_unsigned(json, "dropped_for_lateness", account->sessions_dropped[DROP_LATENESS]);
    json_member_number(json, "cpu_share", health->cpu_share);
    json_member_unsigned(json, "most_open", account->most_open);
    json_close_object(json);
}

void report_result(FILE *out, const struct result *result)
{
    const struct options *options = result->options;
    const struct account *account = result->account;
    struct json_writer json;

    json_begin(&json, out);
    json_open_object(&json);
    json_member_string(&json, "type", "result");
    json_member_unsigned(&json, "version", 1);
    json_member_string(&json, "mode", mode_name(options->mode));
    json_member_string(&json, "url", options->url);
    if (options->mode == MODE_OPEN)
        json_member_number(&json, "rate_rps", options->rate_rps);
    else
        json_member_unsigned(&json, "connections", options->connections);
    json_member_number(&json, "duration_s", options->duration_s);
    json_member_number(&json, "warmup_s", options->warmup_s);
    json_member_number(&json, "timeout_s", options->timeout_s);
    json_member_number(&json, "connect_timeout_s", options->connect_timeout_s);
    json_member_unsigned(&json, "processes", options->processes);
    json_member_number(&json, "elapsed_s", result->elapsed_s);
    json_member_boolean(&json, "interrupted", result->interrupted);
    write_sessions(&json, account);
    write_requests(&json, account);
    write_replies(&json, account);
    write_failures(&json, account);
    write_tls(&json, account);
    write_http2(&json, account);
    json_member_unsigned(&json, "bytes_received", account->bytes_received);
    json_member_number(&json, "goodput_mbps", report_mbps(account->window_bytes, result->window_s));
    json_member_number(&json, "reply_rate_rps", report_rate(account->window_replies, result->window_s));
    write_window(&json, result);
    write_size_classes(&json, &account->size_classes);
    write_latencies(&json, account);
    write_histograms(&json, account);
    write_health(&json, result->health, account);
    json_close_object(&json);
    json_end_line(&json);
}
