/*
 * See knobs.h.
 */
#include "httpd/config/knobs.h"

#include "common/affinity.h"
#include "httpd/io/events.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *events_choice(size_t index)
{
    const struct event_mechanism *mechanism = event_mechanism_at(index);

    return mechanism ? mechanism->name : NULL;
}

static const char *sendfile_choice(size_t index)
{
    static const char *const names[] = {[SENDFILE_NONBLOCKING] = "nonblocking",
                                        [SENDFILE_BLOCKING] = "blocking",
                                        [SENDFILE_OFF] = "off",
                                        NULL};

    return names[index];
}

static const char *cache_lock_choice(size_t index)
{
    static const char *const names[] = {[CACHE_LOCK_MUTEX] = "mutex", [CACHE_LOCK_RW] = "rw", NULL};

    return names[index];
}

static const char *switch_choice(size_t index)
{
    static const char *const names[] = {[SWITCH_OFF] = "off", [SWITCH_ON] = "on", NULL};

    return names[index];
}

static const char *thread_pool_choice(size_t index)
{
    static const char *const names[] = {
        [THREAD_POOL_FIXED] = "fixed", [THREAD_POOL_ON_DEMAND] = "on-demand", NULL};

    return names[index];
}

static const char *stage_size_choice(size_t index)
{
    static const char *const names[] = {[STAGE_FIXED] = "fixed", [STAGE_ADAPTIVE] = "adaptive", NULL};

    return names[index];
}

static const char *large_transfer_choice(size_t index)
{
    static const char *const names[] = {
        [LARGE_TRANSFER_THREAD] = "thread", [LARGE_TRANSFER_CONTINUATION] = "continuation", NULL};

    return names[index];
}

/* What may stand in the place of the integer; stored as KNOB_INF, KNOB_AUTO and KNOB_OFF. */
static const char *accept_limit_word(size_t index)
{
    static const char *const words[] = {"inf", "auto", NULL};

    return words[index];
}

static const char *admission_word(size_t index)
{
    static const char *const words[] = {"off", NULL};

    return words[index];
}

static const char *forward_bias_word(size_t index)
{
    static const char *const words[] = {"inf", NULL};

    return words[index];
}

/* clang-format off */
const struct knob KNOBS[KNOB_COUNT] = {
    [KNOB_ROOT] = {.name = "root", .kind = KNOB_PATH, .required = true,
        .help = "directory whose files are served"},
    [KNOB_LISTEN] = {.name = "listen", .kind = KNOB_ADDRESSES, .required = true,
        .help = "addresses to listen at, comma-separated, each address:port or [ipv6]:port"},
    [KNOB_STATS_SOCKET] = {.name = "stats_socket", .kind = KNOB_PATH,
        .help = "path of the Unix socket for statistics and control; none if not given"},
    [KNOB_ACCESS_LOG] = {.name = "access_log", .kind = KNOB_PATH,
        .help = "file to append a line to for every request, in the combined format; none if not given"},
    [KNOB_USER] = {.name = "user", .kind = KNOB_NAME,
        .help = "user that the workers serve as, if the server is started by root; the master stays root"},
    [KNOB_GROUP] = {.name = "group", .kind = KNOB_NAME,
        .help = "group that the workers serve as; that of the user if not given"},
    [KNOB_MIME_TYPES] = {.name = "mime_types", .kind = KNOB_PATH, .default_text = "/etc/mime.types",
        .help = "file of media types and their extensions; the default may be missing"},
    [KNOB_CHARSET] = {.name = "charset", .kind = KNOB_NAME,
        .help = "charset that the media types of texts get, such as utf-8; none if not given"},
    [KNOB_PRECOMPRESSED] = {.name = "precompressed", .kind = KNOB_CHOICE, .choice = switch_choice,
        .default_text = "off",
        .help = "whether FILE.br, FILE.zst or FILE.gz is sent in the place of FILE to who accepts that"},
    [KNOB_ARCHITECTURE] = {.name = "architecture", .kind = KNOB_CHOICE, .choice = architecture_name,
        .default_text = "symped", .help = "how the work is divided among processes"},
    [KNOB_EVENTS] = {.name = "events", .kind = KNOB_CHOICE, .choice = events_choice,
        .default_text = "epoll-et", .help = "how readiness is learnt from the kernel"},
    [KNOB_SENDFILE] = {.name = "sendfile", .kind = KNOB_CHOICE, .choice = sendfile_choice,
        .default_text = "nonblocking", .live = true,
        .help = "whether sendfile returns when the socket buffer is full, holds on to the last byte, or is not "
                "used: then contents are kept in memory and written"},
    [KNOB_WORKERS] = {.name = "workers", .kind = KNOB_INTEGER, .low = 1, .high = 1024,
        .default_text = "1",
        .help = "serving processes, kernel threads or writers, whichever the architecture multiplies"},
    [KNOB_MAX_CONNECTIONS] = {.name = "max_connections", .kind = KNOB_INTEGER, .low = 1, .high = 1000000,
        .default_text = "1024", .live = true,
        .help = "connections open at once over all workers, divided among them as evenly as possible"},
    [KNOB_ACCEPT_LIMIT] = {.name = "accept_limit", .kind = KNOB_INTEGER_OR_WORD, .choice = accept_limit_word,
        .low = 1, .high = 1000000,
        .default_text = "inf", .live = true, 
        .help = "connections accepted in one accept phase; auto balances accepting and working"},
    [KNOB_BACKLOG] = {.name = "backlog", .kind = KNOB_INTEGER, .low = 1, .high = 65535,
        .default_text = "1024", .help = "length of the kernel's accept queue (capped by net.core.somaxconn)"},
    [KNOB_SNDBUF] = {.name = "sndbuf", .kind = KNOB_INTEGER, .low = 0, .high = 1 << 30,
        .default_text = "0", .help = "socket send buffer in bytes (SO_SNDBUF); 0 leaves it to the kernel"},
    [KNOB_AFFINITY] = {.name = "affinity", .kind = KNOB_CPUS, .low = 0, .high = AFFINITY_CPU_MAX,
        .default_text = "none",
        .help = "CPUs to pin workers to: worker i gets element i modulo the number of elements; auto: all that "
                "the server may use"},
    [KNOB_CACHE_ENTRIES] = {.name = "cache_entries", .kind = KNOB_INTEGER, .low = 1, .high = 1000000,
        .default_text = "30000", .help = "open files with their headers kept by each worker"},
    [KNOB_CACHE_MB] = {.name = "cache_mb", .kind = KNOB_INTEGER, .low = 1, .high = 1 << 20,
        .default_text = "64", .help = "MiB of contents of small files that each cache keeps, and as much of others that each process "
                "keeps if sendfile is off"},
    [KNOB_CACHE_LOCK] = {.name = "cache_lock", .kind = KNOB_CHOICE, .choice = cache_lock_choice,
        .default_text = "rw",
        .help = "how a cache that is shared is locked: one mutex, or a readers-writer lock for the table"},
    [KNOB_REUSEPORT] = {.name = "reuseport", .kind = KNOB_CHOICE, .choice = switch_choice,
        .default_text = "off",
        .help = "whether each worker or copy has listening sockets of its own (SO_REUSEPORT), among which "
                "the kernel divides the connections"},
    [KNOB_COPIES] = {.name = "copies", .kind = KNOB_INTEGER, .low = 1, .high = 1024,
        .default_text = "1", .help = "copies of the whole server, usually one for each CPU"},
    [KNOB_COPY_OF] = {.name = "copy_of", .kind = KNOB_CHOICE, .choice = architecture_copied_name,
        .default_text = "symped", .help = "the architecture that n-copy has copies of"},
    [KNOB_HELPERS] = {.name = "helpers", .kind = KNOB_INTEGER, .low = 1, .high = 1024,
        .default_text = "4", .help = "helper processes for what may block, for each event loop"},
    [KNOB_READERS] = {.name = "readers", .kind = KNOB_INTEGER, .low = 1, .high = 64,
        .default_text = "1", .help = "threads of the pipeline's Read stage, for each CPU in `affinity`"},
    [KNOB_FORWARD_BIAS] = {.name = "forward_bias", .kind = KNOB_INTEGER_OR_WORD, .choice = forward_bias_word,
        .low = 1, .high = 1000000,
        .default_text = "inf",
        .help = "connections that the owner of a URL may have more than the process that has read the request, "
                "which then forwards it; inf forwards it always"},
    [KNOB_POLL_DELAY_US] = {.name = "poll_delay_us", .kind = KNOB_INTEGER, .low = 0, .high = 1000000,
        .default_text = "0", .help = "microseconds that a polling stage waits before it polls, so that it finds more"},
    [KNOB_STAGE_THREADS] = {.name = "stage_threads", .kind = KNOB_CHOICE, .choice = stage_size_choice,
        .default_text = "fixed", .live = true,
        .help = "whether all `readers` and `workers` of the pipeline work, or as many as their queues ask for"},
    [KNOB_STAGE_BATCH] = {.name = "stage_batch", .kind = KNOB_CHOICE, .choice = stage_size_choice,
        .default_text = "fixed", .live = true,
        .help = "whether a thread of the pipeline takes as many items at a time as it can, or as few as cost no "
                "throughput"},
    [KNOB_ADMISSION_P90_MS] = {.name = "admission_p90_ms", .kind = KNOB_INTEGER_OR_WORD,
        .choice = admission_word, .low = 1, .high = 60000,
        .default_text = "off", .live = true,
        .help = "milliseconds that nine of ten items may wait for a stage of the pipeline at most; what would "
                "take longer is refused with 503"},
    [KNOB_LARGE_TRANSFER] = {.name = "large_transfer", .kind = KNOB_CHOICE, .choice = large_transfer_choice,
        .default_text = "continuation",
        .help = "who sends what did not fit the socket at first: the thread, woken each time, or the scheduler"},
    [KNOB_THREAD_POOL] = {.name = "thread_pool", .kind = KNOB_CHOICE, .choice = thread_pool_choice,
        .default_text = "fixed",
        .help = "whether threads are there from the beginning, or are started when none is free"},
    [KNOB_KEEPALIVE_TIMEOUT] = {.name = "keepalive_timeout", .kind = KNOB_SECONDS, .low = 0, .high = 86400,
        .default_text = "15", .live = true, .help = "seconds that a connection may be idle between requests"},
    [KNOB_REQUEST_TIMEOUT] = {.name = "request_timeout", .kind = KNOB_SECONDS, .low = 0, .high = 86400,
        .default_text = "10", .live = true,
        .help = "seconds until a request head must be complete, and over which a body or a reply must keep up with "
                "min_bytes_per_s"},
    [KNOB_MIN_BYTES_PER_S] = {.name = "min_bytes_per_s", .kind = KNOB_INTEGER, .low = 1, .high = 1 << 30,
        .default_text = "240", .live = true,
        .help = "bytes a second that a client must at least send of a body or take of a reply, on average over "
                "request_timeout"},
};
/* clang-format on */

enum knob_id knob_find(const char *name)
{
    for (enum knob_id id = 0; id < KNOB_COUNT; id++) {
        if (strcmp(KNOBS[id].name, name) == 0)
            return id;
    }
    return KNOB_COUNT;
}

static bool parse_integer(const char *text, int64_t low, int64_t high, int64_t *integer)
{
    char *end;

    /* strtoll would skip white space and take a plus sign. */
    if (*text != '-' && (*text < '0' || *text > '9'))
        return false;
    errno = 0;
    *integer = strtoll(text, &end, 10);
    return errno == 0 && *end == '\0' && *integer >= low && *integer <= high;
}

static bool parse_seconds(const struct knob *knob, const char *text, double *seconds)
{
    char *end;

    if (strspn(text, "0123456789.") != strlen(text) || *text == '\0')
        return false;
    *seconds = strtod(text, &end);
    return *end == '\0' && *seconds > (double)knob->low && *seconds <= (double)knob->high;
}

static bool is_name(const char *text)
{
    return *text != '\0' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+@-") ==
               strlen(text);
}

static bool parse_choice(const struct knob *knob, const char *text, int64_t *index)
{
    for (size_t i = 0; knob->choice(i); i++) {
        if (strcmp(knob->choice(i), text) == 0) {
            *index = (int64_t)i;
            return true;
        }
    }
    return false;
}

/* Parses one element of a list into place `index` of the value. */
static bool parse_element(const struct knob *knob, const char *text, struct knob_value *value, size_t index)
{
    int64_t cpu;

    if (knob->kind == KNOB_ADDRESSES)
        return address_parse(text, &value->addresses[index]);
    if (!parse_integer(text, knob->low, knob->high, &cpu))
        return false;
    value->cpus[index] = (int)cpu;
    return true;
}

static bool parse_list(const struct knob *knob, const char *text, struct knob_value *value)
{
    char *copy = strdup(text);
    char *rest = copy;
    bool ok = copy != NULL;

    if (knob->kind == KNOB_ADDRESSES)
        value->addresses = calloc(KNOB_ELEMENTS_MAX, sizeof(*value->addresses));
    else
        value->cpus = calloc(KNOB_ELEMENTS_MAX, sizeof(*value->cpus));
    ok = ok && (value->addresses || value->cpus);
    for (char *element; ok && (element = strsep(&rest, ",")) != NULL;) {
        size_t length = strlen(element);

        while (length > 0 && strchr(" \t", element[length - 1]))
            element[--length] = '\0';
        element += strspn(element, " \t");
        ok = value->count < KNOB_ELEMENTS_MAX && parse_element(knob, element, value, value->count);
        value->count += ok;
    }
    free(copy);
    return ok;
}

/* All CPUs that this process may use. */
static bool take_usable_cpus(struct knob_value *value)
{
    value->cpus = calloc(KNOB_ELEMENTS_MAX, sizeof(*value->cpus));
    if (value->cpus)
        value->count = affinity_usable(value->cpus, KNOB_ELEMENTS_MAX);
    return value->count > 0;
}

void knob_release(struct knob_value *value)
{
    free(value->origin);
    free(value->text);
    free(value->addresses);
    free(value->cpus);
    *value = (struct knob_value){0};
}

bool knob_parse(const struct knob *knob, const char *text, struct knob_value *value)
{
    struct knob_value parsed = {0};
    int64_t index;
    bool ok = false;

    switch (knob->kind) {
    case KNOB_PATH:
        ok = *text != '\0' && (parsed.text = strdup(text)) != NULL;
        break;
    case KNOB_NAME:
        ok = is_name(text) && (parsed.text = strdup(text)) != NULL;
        break;
    case KNOB_ADDRESSES:
        ok = parse_list(knob, text, &parsed);
        break;
    case KNOB_CPUS:
        if (strcmp(text, "auto") == 0)
            ok = take_usable_cpus(&parsed);
        else
            ok = *text == '\0' || strcmp(text, "none") == 0 || parse_list(knob, text, &parsed);
        break;
    case KNOB_CHOICE:
        ok = parse_choice(knob, text, &parsed.integer);
        break;
    case KNOB_INTEGER_OR_WORD:
        if (parse_choice(knob, text, &index)) {
            parsed.integer = KNOB_WORD(index);
            ok = true;
            break;
        }
        /* fall through */
    case KNOB_INTEGER:
        ok = parse_integer(text, knob->low, knob->high, &parsed.integer);
        break;
    case KNOB_SECONDS:
        ok = parse_seconds(knob, text, &parsed.seconds);
        break;
    }
    if (!ok) {
        knob_release(&parsed);
        return false;
    }
    knob_release(value);
    *value = parsed;
    return true;
}

void knob_expected(const struct knob *knob, char *text, size_t size)
{
    size_t length;

    switch (knob->kind) {
    case KNOB_PATH:
        snprintf(text, size, "a path");
        break;
    case KNOB_NAME:
        snprintf(text, size, "a name of letters, digits and . _ + @ -");
        break;
    case KNOB_ADDRESSES:
        snprintf(text, size, "comma-separated addresses such as 127.0.0.1:8000 or [::1]:8000");
        break;
    case KNOB_CPUS:
        snprintf(text, size, "comma-separated CPU numbers from %" PRId64 " to %" PRId64 ", or none, or auto",
                 knob->low, knob->high);
        break;
    case KNOB_CHOICE:
        length = (size_t)snprintf(text, size, "one of");
        for (size_t i = 0; knob->choice(i) && length < size; i++)
            length += (size_t)snprintf(text + length, size - length, "%s %s", i ? "," : "", knob->choice(i));
        break;
    case KNOB_INTEGER:
    case KNOB_INTEGER_OR_WORD:
        length =
            (size_t)snprintf(text, size, "an integer from %" PRId64 " to %" PRId64, knob->low, knob->high);
        for (size_t i = 0; knob->choice && knob->choice(i) && length < size; i++)
            length += (size_t)snprintf(text + length, size - length, ", or %s", knob->choice(i));
        break;
    case KNOB_SECONDS:
        snprintf(text, size, "seconds, more than %" PRId64 " and at most %" PRId64, knob->low, knob->high);
        break;
    }
}

static size_t format_list(const struct knob *knob, const struct knob_value *value, char *text, size_t size)
{
    size_t length = 0;

    for (size_t i = 0; i < value->count && length < size; i++) {
        char element[ADDRESS_TEXT_MAX];

        if (knob->kind == KNOB_ADDRESSES)
            address_format(&value->addresses[i], element);
        else
            snprintf(element, sizeof(element), "%d", value->cpus[i]);
        length += (size_t)snprintf(text + length, size - length, "%s%s", i ? "," : "", element);
    }
    return length;
}

bool knob_is_word(const struct knob *knob, const struct knob_value *value)
{
    return knob->kind == KNOB_INTEGER_OR_WORD && value->integer > knob->high;
}

size_t knob_format(const struct knob *knob, const struct knob_value *value, char *text, size_t size)
{
    switch (knob->kind) {
    case KNOB_PATH:
    case KNOB_NAME:
        return (size_t)snprintf(text, size, "%s", value->text ? value->text : "");
    case KNOB_ADDRESSES:
    case KNOB_CPUS:
        if (value->count)
            return format_list(knob, value, text, size);
        return (size_t)snprintf(text, size, "none");
    case KNOB_CHOICE:
        return (size_t)snprintf(text, size, "%s", knob->choice((size_t)value->integer));
    case KNOB_INTEGER:
    case KNOB_INTEGER_OR_WORD:
        if (knob_is_word(knob, value))
            return (size_t)snprintf(text, size, "%s", knob->choice((size_t)(INT64_MAX - value->integer)));
        return (size_t)snprintf(text, size, "%" PRId64, value->integer);
    case KNOB_SECONDS:
        return (size_t)snprintf(text, size, "%g", value->seconds);
    }
    return 0;
}
