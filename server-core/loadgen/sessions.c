/*
 * See sessions.h. The reader goes line by line; `struct reader` holds what one line leaves for the next.
 */
#include "sessions.h"

#include "memory.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* Fits 32 bits of microseconds, and is longer than any timeout makes sense. */
#define THINK_MAX_S 4000

struct reader {
    struct session_plan *plan;
    const struct request_form *form;
    /* Open-addressing table from a kind's request text and size to its index + 1; 0 marks a free slot. */
    uint32_t *table;
    uint32_t table_size;
    bool in_burst; /* a line of the present session has begun a burst */
    const char *name;
    unsigned long line_number;
    char *error;
    size_t error_size;
};

static bool refuse(struct reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool refuse(struct reader *reader, const char *format, ...)
{
    va_list arguments;
    int used = snprintf(reader->error, reader->error_size, "%s:%lu: ", reader->name, reader->line_number);

    if (used < 0 || (size_t)used >= reader->error_size)
        return false;
    va_start(arguments, format);
    vsnprintf(reader->error + used, reader->error_size - (size_t)used, format, arguments);
    va_end(arguments);
    return false;
}

/* FNV-1a, from its public definition: 64-bit offset basis and prime. */
static uint64_t hash_kind(const struct request_kind *kind)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ kind->size;

    for (uint32_t i = 0; i < kind->text_length; i++)
        hash = (hash ^ (unsigned char)kind->text[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static bool same_kind(const struct request_kind *a, const struct request_kind *b)
{
    return a->size == b->size && a->text_length == b->text_length &&
           memcmp(a->text, b->text, a->text_length) == 0;
}

/* Returns the slot of `kind` in the table: the one that names it, or the free one where it belongs. */
static uint32_t *find_slot(const struct reader *reader, const struct request_kind *kind)
{
    uint32_t slot = (uint32_t)hash_kind(kind) & (reader->table_size - 1);

    while (reader->table[slot] != 0 && !same_kind(kind, &reader->plan->kinds[reader->table[slot] - 1]))
        slot = (slot + 1) & (reader->table_size - 1);
    return &reader->table[slot];
}

/* Doubles the table, so that it is never more than half full. */
static void grow_table(struct reader *reader)
{
    free(reader->table);
    reader->table_size = reader->table_size == 0 ? 64 : 2 * reader->table_size;
    reader->table = memory_needed(calloc(reader->table_size, sizeof(*reader->table)));
    for (uint32_t i = 0; i < reader->plan->kind_count; i++)
        *find_slot(reader, &reader->plan->kinds[i]) = i + 1;
}

static struct request_kind make_kind(const struct request_form *form, const char *uri, bool head,
                                     uint64_t size)
{
    struct request_kind kind = {.head = head, .size = size};
    /* What is not the default of the version has to be said (RFC 9112 §9.3). */
    const char *connection = form->close == form->http_1_0 ? ""
                             : form->close                 ? "Connection: close\r\n"
                                                           : "Connection: keep-alive\r\n";
    int length = asprintf(&kind.text, "%s %s HTTP/1.%c\r\nHost: %s\r\nUser-Agent: trimtab-load/%s\r\n%s\r\n",
                          head ? "HEAD" : "GET", uri, form->http_1_0 ? '0' : '1', form->authority,
                          TRIMTAB_VERSION, connection);

    if (length < 0)
        kind.text = memory_needed(NULL);
    kind.text_length = (uint32_t)length;
    return kind;
}

/* Returns the index of the kind, which is added when it is new. */
static uint32_t intern(struct reader *reader, const char *uri, bool head, uint64_t size)
{
    struct session_plan *plan = reader->plan;
    struct request_kind kind = make_kind(reader->form, uri, head, size);

    if (2 * plan->kind_count >= reader->table_size)
        grow_table(reader);
    uint32_t *slot = find_slot(reader, &kind);
    if (*slot != 0) {
        free(kind.text);
        return *slot - 1;
    }
    plan->kinds = memory_room_for_one(plan->kinds, plan->kind_count, sizeof(*plan->kinds));
    plan->kinds[plan->kind_count] = kind;
    *slot = plan->kind_count + 1;
    return plan->kind_count++;
}

static void append_request(struct session_plan *plan, uint32_t kind, uint32_t think_us)
{
    plan->requests = memory_room_for_one(plan->requests, plan->request_count, sizeof(*plan->requests));
    plan->requests[plan->request_count++] = (struct planned_request){.kind = kind, .think_us = think_us};
}

static void end_session(struct reader *reader)
{
    struct session_plan *plan = reader->plan;
    uint32_t first = plan->session_count == 0 ? 0 : plan->session_ends[plan->session_count - 1];

    reader->in_burst = false;
    if (plan->request_count == first)
        return;
    plan->session_ends =
        memory_room_for_one(plan->session_ends, plan->session_count, sizeof(*plan->session_ends));
    plan->session_ends[plan->session_count++] = plan->request_count;
}

static bool read_think(struct reader *reader, const char *value, uint32_t *think_us)
{
    char *end;
    double seconds = strtod(value, &end);

    if (end == value || *end != '\0' || !(seconds >= 0 && seconds <= THINK_MAX_S))
        return refuse(reader, "think=%s: expected seconds from 0 to %d", value, THINK_MAX_S);
    *think_us = (uint32_t)llround(seconds * 1e6);
    return true;
}

static bool read_size(struct reader *reader, const char *value, uint64_t *size)
{
    if (*value == '\0' || strlen(value) > 18 || value[strspn(value, "0123456789")] != '\0')
        return refuse(reader, "size=%s: expected a number of bytes", value);
    *size = strtoull(value, NULL, 10);
    return true;
}

/* Reads one request; `text` holds no leading white space and at least one word. */
static bool read_request(struct reader *reader, char *text, bool indented)
{
    const char *const blanks = " \t";
    char *rest;
    const char *uri = strtok_r(text, blanks, &rest);
    bool head = false;
    uint64_t size = SIZE_UNKNOWN;
    uint32_t think_us = 0;

    if (indented && !reader->in_burst)
        return refuse(
            reader, "the line starts with white space, but no line of the session begins a burst before it");
    if (*uri != '/')
        return refuse(reader, "%s: expected a URI that starts with /", uri);
    for (const char *c = uri; *c != '\0'; c++)
        if (*c < ' ' || *c >= 127)
            return refuse(reader, "%s: a URI holds no control or non-ASCII characters", uri);

    for (const char *field; (field = strtok_r(NULL, blanks, &rest)) != NULL;) {
        if (strcmp(field, "method=HEAD") == 0)
            head = true;
        else if (strcmp(field, "method=GET") == 0)
            head = false;
        else if (strncmp(field, "method=", 7) == 0)
            return refuse(reader, "%s: expected GET or HEAD", field);
        else if (strncmp(field, "think=", 6) == 0) {
            if (!read_think(reader, field + 6, &think_us))
                return false;
        } else if (strncmp(field, "size=", 5) == 0) {
            if (!read_size(reader, field + 5, &size))
                return false;
        } else {
            return refuse(reader, "%s: expected method=, think= or size=", field);
        }
    }

    reader->in_burst = true;
    if (reader->plan->request_count == UINT32_MAX)
        return refuse(reader, "the log has more than %u requests", UINT32_MAX);
    append_request(reader->plan, intern(reader, uri, head, size), think_us);
    return true;
}

bool sessions_read(struct session_plan *plan, FILE *in, const char *name, const struct request_form *form,
                   char *error, size_t error_size)
{
    struct reader reader = {
        .plan = plan, .form = form, .name = name, .error = error, .error_size = error_size};
    char *line = NULL;
    size_t line_size = 0;
    bool ok = true;
    *plan = (struct session_plan){0};

    for (ssize_t length; ok && (length = getline(&line, &line_size, in)) >= 0;) {
        reader.line_number++;
        if (memchr(line, '\0', (size_t)length) != NULL) {
            ok = refuse(&reader, "the line holds a NUL byte");
            break;
        }
        line[strcspn(line, "\r\n")] = '\0';
        char *text = line + strspn(line, " \t");
        if (*text == '\0')
            end_session(&reader);
        else if (*text != '#')
            ok = read_request(&reader, text, text != line);
    }
    end_session(&reader);
    free(line);
    free(reader.table);
    if (ok && ferror(in)) {
        snprintf(error, error_size, "%s: the session log could not be read", name);
        return false;
    }
    if (ok && plan->session_count == 0) {
        snprintf(error, error_size, "%s: the session log holds no request", name);
        return false;
    }
    return ok;
}

void sessions_repeat(struct session_plan *plan, const char *path, const struct request_form *form,
                     uint32_t requests)
{
    *plan = (struct session_plan){.kind_count = 1, .session_count = 1};
    plan->kinds = memory_needed(malloc(sizeof(*plan->kinds)));
    plan->kinds[0] = make_kind(form, path, false, SIZE_UNKNOWN);
    for (uint32_t i = 0; i < requests; i++)
        append_request(plan, 0, 0);
    plan->session_ends = memory_needed(malloc(sizeof(*plan->session_ends)));
    plan->session_ends[0] = requests;
}

void sessions_free(struct session_plan *plan)
{
    for (uint32_t i = 0; i < plan->kind_count; i++)
        free(plan->kinds[i].text);
    free(plan->kinds);
    free(plan->requests);
    free(plan->session_ends);
}
