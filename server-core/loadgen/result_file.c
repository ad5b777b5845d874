/*
 * See result_file.h. Every reader below takes a member of an object by its name; one that is missing or of
 * another type is remembered, and refused at the end in one place.
 */
#include "result_file.h"

#include "memory.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

struct reader {
    const char *missing; /* the first member that was not as expected, NULL when none */
};

static json_t *member(struct reader *reader, json_t *object, const char *name, json_type type)
{
    json_t *value = json_object_get(object, name);
    bool right =
        value != NULL && (json_typeof(value) == type || (type == JSON_REAL && json_is_number(value)) ||
                          (type == JSON_TRUE && json_is_boolean(value)));

    if (!right && reader->missing == NULL)
        reader->missing = name;
    return right ? value : NULL;
}

static uint64_t count_of(struct reader *reader, json_t *object, const char *name)
{
    json_int_t count = json_integer_value(member(reader, object, name, JSON_INTEGER));

    if (count < 0 && reader->missing == NULL)
        reader->missing = name;
    return count < 0 ? 0 : (uint64_t)count;
}

static double number_of(struct reader *reader, json_t *object, const char *name)
{
    return json_number_value(member(reader, object, name, JSON_REAL));
}

static json_t *object_of(struct reader *reader, json_t *object, const char *name)
{
    return member(reader, object, name, JSON_OBJECT);
}

static void read_options(struct reader *reader, json_t *result, struct options *options)
{
    const char *mode = json_string_value(member(reader, result, "mode", JSON_STRING));
    const char *url = json_string_value(member(reader, result, "url", JSON_STRING));

    if (mode == NULL || !mode_of(mode, &options->mode) || options->mode == MODE_MERGE) {
        reader->missing = "mode";
        return;
    }
    options->url = memory_needed(strdup(url == NULL ? "" : url));
    if (options->mode == MODE_OPEN)
        options->rate_rps = number_of(reader, result, "rate_rps");
    else
        options->connections = count_of(reader, result, "connections");
    options->duration_s = number_of(reader, result, "duration_s");
    options->warmup_s = number_of(reader, result, "warmup_s");
    options->timeout_s = number_of(reader, result, "timeout_s");
    options->connect_timeout_s = number_of(reader, result, "connect_timeout_s");
    options->processes = count_of(reader, result, "processes");
}

static void read_sessions(struct reader *reader, json_t *result, struct account *account)
{
    static const char *const names[SESSION_END_COUNT] = {
        [SESSION_COMPLETED] = "completed",     [SESSION_TIMED_OUT_CONNECT] = "timed_out_connect",
        [SESSION_TIMED_OUT] = "timed_out",     [SESSION_FAILED] = "failed",
        [SESSION_INTERRUPTED] = "interrupted",
    };
    json_t *sessions = object_of(reader, result, "sessions");

    account->sessions_offered = count_of(reader, sessions, "offered");
    account->sessions_started = count_of(reader, sessions, "started");
    account->sessions_slow = count_of(reader, sessions, "slow");
    account->connections_reopened = count_of(reader, sessions, "reopened");
    for (unsigned end = 0; end < SESSION_END_COUNT; end++)
        account->session_ends[end] = count_of(reader, sessions, names[end]);
}

static void read_outcomes(struct reader *reader, json_t *object, uint64_t outcomes[OUTCOME_COUNT])
{
    static const char *const names[OUTCOME_COUNT] = {
        [OUTCOME_REPLIED] = "replied",
        [OUTCOME_TIMED_OUT_BEFORE_READ] = "timed_out_before_read",
        [OUTCOME_TIMED_OUT_AFTER_READ] = "timed_out_after_read",
        [OUTCOME_FAILED] = "failed",
        [OUTCOME_ABANDONED] = "abandoned",
    };

    for (unsigned outcome = 0; outcome < OUTCOME_COUNT; outcome++)
        outcomes[outcome] = count_of(reader, object, names[outcome]);
}

static void read_replies(struct reader *reader, json_t *result, struct account *account)
{
    json_t *replies = object_of(reader, result, "replies");
    json_t *count;
    const char *name;

    account->replies_verified = count_of(reader, replies, "verified");
    json_object_foreach(object_of(reader, replies, "by_status"), name, count)
    {
        unsigned status;
        if (sscanf(name, "%4u", &status) == 1 && status <= STATUS_MAX && json_is_integer(count))
            account->replies_by_status[status] = (uint64_t)json_integer_value(count);
    }
    json_object_foreach(object_of(reader, result, "failures"), name, count)
    {
        if (!account_add_failures(account, name, (uint64_t)json_integer_value(count)))
            reader->missing = "failures";
    }
}

static void read_tls(struct reader *reader, json_t *result, struct account *account)
{
    json_t *tls = object_of(reader, result, "tls");

    account->handshakes = count_of(reader, tls, "handshakes");
    account->sessions_resumption_offered = count_of(reader, tls, "offered");
    account->handshakes_resumed = count_of(reader, tls, "resumed");
    account->handshakes_failed = count_of(reader, tls, "failed");
}

static void read_http2(struct reader *reader, json_t *result, struct account *account)
{
    json_t *http2 = object_of(reader, result, "http2");

    account->streams = count_of(reader, http2, "streams");
    account->most_streams = count_of(reader, http2, "most_streams");
    account->streams_reset = count_of(reader, http2, "reset");
    account->goaways = count_of(reader, http2, "goaways");
    account->asked_again = count_of(reader, http2, "asked_again");
}

static void read_size_classes(struct reader *reader, json_t *result, struct size_classes *classes)
{
    json_t *list = member(reader, result, "size_classes", JSON_ARRAY);

    if (json_array_size(list) > SIZE_CLASSES_MAX) {
        reader->missing = "size_classes";
        return;
    }
    classes->powers_of_two = json_is_true(member(reader, result, "size_classes_folded", JSON_TRUE));
    classes->count = (unsigned)json_array_size(list);
    for (unsigned i = 0; i < classes->count; i++) {
        json_t *class = json_array_get(list, i);
        classes->classes[i].size_bytes = count_of(reader, class, "size_bytes");
        read_outcomes(reader, class, classes->classes[i].outcomes);
    }
}

static void read_histogram(struct reader *reader, json_t *histograms, const char *name,
                           struct histogram *histogram)
{
    json_t *bucket;
    size_t i;

    json_array_foreach(member(reader, histograms, name, JSON_ARRAY), i, bucket)
    {
        json_int_t value = json_integer_value(json_array_get(bucket, 0));
        json_int_t count = json_integer_value(json_array_get(bucket, 1));
        if (value < 0 || count < 1)
            reader->missing = name;
        else
            histogram_record_many(histogram, (uint64_t)value, (uint64_t)count);
    }
}

static void read_latency(struct reader *reader, json_t *result, const char *name, struct histogram *histogram)
{
    json_t *summary = object_of(reader, object_of(reader, result, "latency_us"), name);

    read_histogram(reader, object_of(reader, result, "histograms"), name, histogram);
    histogram_set_totals(histogram, count_of(reader, summary, "sum"), count_of(reader, summary, "max"));
}

static void read_health(struct reader *reader, json_t *result, struct loaded_result *loaded)
{
    json_t *health = object_of(reader, result, "health");
    const char *verdict = json_string_value(member(reader, health, "verdict", JSON_STRING));
    const char *reason = json_string_value(json_array_get(member(reader, health, "reasons", JSON_ARRAY), 0));
    struct account *account = loaded->account;

    if (verdict != NULL && strcmp(verdict, "ok") != 0)
        snprintf(loaded->limited, sizeof(loaded->limited), "%s", reason == NULL ? verdict : reason);
    account->most_open = count_of(reader, health, "most_open");
    account->late_arrivals = count_of(reader, health, "late_arrivals");
    account->sessions_dropped[DROP_PORTS] = count_of(reader, health, "dropped_for_ports");
    account->sessions_dropped[DROP_DESCRIPTORS] = count_of(reader, health, "dropped_for_descriptors");
    account->sessions_dropped[DROP_LATENESS] = count_of(reader, health, "dropped_for_lateness");
    loaded->cpu_share = number_of(reader, health, "cpu_share");
    read_histogram(reader, object_of(reader, result, "histograms"), "lateness", account->lateness_us);
    histogram_set_totals(account->lateness_us, histogram_sum(account->lateness_us),
                         count_of(reader, health, "lateness_max_us"));
}

/* Returns the name of a member that is not as it should be, NULL when all are. */
static const char *read_result(struct loaded_result *loaded, json_t *result)
{
    struct reader reader = {0};
    struct account *account = loaded->account;
    json_t *requests = object_of(&reader, result, "requests");
    json_t *window = object_of(&reader, result, "window");

    if (count_of(&reader, result, "version") != 1)
        return "version";
    read_options(&reader, result, &loaded->options);
    loaded->elapsed_s = number_of(&reader, result, "elapsed_s");
    loaded->interrupted = json_is_true(member(&reader, result, "interrupted", JSON_TRUE));
    read_sessions(&reader, result, account);
    account->requests_offered = count_of(&reader, requests, "offered");
    account->requests_dropped = count_of(&reader, requests, "dropped");
    read_outcomes(&reader, requests, account->requests);
    read_replies(&reader, result, account);
    read_tls(&reader, result, account);
    read_http2(&reader, result, account);
    account->bytes_received = count_of(&reader, result, "bytes_received");
    loaded->window_s = number_of(&reader, window, "seconds");
    account->window_replies = count_of(&reader, window, "replies");
    account->window_bytes = count_of(&reader, window, "bytes");
    account->window_due = count_of(&reader, window, "due");
    account->window_handshakes = count_of(&reader, window, "handshakes");
    read_size_classes(&reader, result, &account->size_classes);
    read_latency(&reader, result, "connect", account->connect_us);
    read_latency(&reader, result, "handshake", account->handshake_us);
    read_latency(&reader, result, "first_byte", account->first_byte_us);
    read_latency(&reader, result, "reply", account->reply_us);
    read_health(&reader, result, loaded);
    return reader.missing;
}

bool result_file_read(struct loaded_result *loaded, const char *file, char *error, size_t error_size)
{
    json_t *result = NULL;
    char *line = NULL;
    size_t line_size = 0;

    *loaded = (struct loaded_result){.account = account_new(0, 0)};
    FILE *in = fopen(file, "re");
    if (in == NULL) {
        snprintf(error, error_size, "%s: cannot be opened: %s", file, strerror(errno));
        return false;
    }
    while (getline(&line, &line_size, in) >= 0) {
        json_t *document = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        const char *type = json_string_value(json_object_get(document, "type"));
        if (type != NULL && strcmp(type, "result") == 0) {
            json_decref(result);
            result = json_incref(document);
        }
        json_decref(document);
    }
    free(line);
    fclose(in);
    if (result == NULL) {
        snprintf(error, error_size, "%s: holds no result: expected JSON lines of trimtab-load", file);
        return false;
    }
    const char *wrong = read_result(loaded, result);
    if (wrong != NULL)
        snprintf(error, error_size, "%s: the result's member \"%s\" is missing or not as expected", file,
                 wrong);
    else if (!account_balanced(loaded->account))
        snprintf(error, error_size, "%s: the counts of the result do not add up", file);
    bool ok = wrong == NULL && account_balanced(loaded->account);
    json_decref(result);
    return ok;
}

void result_file_free(struct loaded_result *loaded)
{
    free((char *)(uintptr_t)loaded->options.url);
    free(loaded->account);
}
