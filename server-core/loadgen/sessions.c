/*
 * See sessions.h. The reader goes line by line; `struct reader` holds what one line leaves for the next.
 */
#include "sessions.h"

#include "memory.h"
#include "random.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* Fits 32 bits of microseconds, and is longer than any timeout makes sense. */
#define THINK_MAX_S 4000

/* So many sessions show the distribution of the bursts, and take a moment to make. */
#define GENERATED_SESSIONS 1000

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
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ kind->size ^ kind->rows;

    for (uint32_t i = 0; i < kind->text_length; i++)
        hash = (hash ^ (unsigned char)kind->text[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static bool same_kind(const struct request_kind *a, const struct request_kind *b)
{
    return a->size == b->size && a->rows == b->rows && a->text_length == b->text_length &&
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

/* Returns the index of the kind, which is added when it is new. */
static uint32_t intern(struct reader *reader, struct request_kind kind)
{
    struct session_plan *plan = reader->plan;

    if (2 * plan->kind_count >= reader->table_size)
        grow_table(reader);
    uint32_t *slot = find_slot(reader, &kind);
    if (*slot != 0) {
        request_kind_free(&kind);
        return *slot - 1;
    }
    plan->kinds = memory_room_for_one(plan->kinds, plan->kind_count, sizeof(*plan->kinds));
    plan->kinds[plan->kind_count] = kind;
    *slot = plan->kind_count + 1;
    return plan->kind_count++;
}

static void append_request(struct session_plan *plan, struct planned_request request)
{
    plan->requests = memory_room_for_one(plan->requests, plan->request_count, sizeof(*plan->requests));
    plan->requests[plan->request_count++] = request;
}

static void end_session(struct session_plan *plan)
{
    uint32_t first = plan->session_count == 0 ? 0 : plan->session_ends[plan->session_count - 1];

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

/* Reads the count that the `field` NAME=VALUE has; messages say what it is a number `of`. */
static bool read_count(struct reader *reader, const char *field, const char *of, uint64_t *count)
{
    const char *value = strchr(field, '=') + 1;

    if (*value == '\0' || strlen(value) > 18 || value[strspn(value, "0123456789")] != '\0')
        return refuse(reader, "%s: expected a number of %s", field, of);
    *count = strtoull(value, NULL, 10);
    return true;
}

static bool read_method(struct reader *reader, const char *value, enum method *method)
{
    for (*method = METHOD_GET; *method <= METHOD_POST; (*method)++)
        if (strcmp(value, method_name(*method)) == 0)
            return true;
    return refuse(reader, "method=%s: expected GET, HEAD or POST", value);
}

/* Takes the contents='...' field, which may hold blanks, out of a line; blanks take its place. *contents
 * becomes NULL when there is none. */
static bool take_contents(struct reader *reader, char *text, char **contents)
{
    char *field = strstr(text, "contents=");

    *contents = NULL;
    if (field == NULL || field == text || (field[-1] != ' ' && field[-1] != '\t'))
        return true;
    char *value = field + strlen("contents=");
    char *end = *value == '\'' || *value == '"' ? strchr(value + 1, *value) : NULL;
    if (end == NULL)
        return refuse(reader, "%s: expected a body in quotation marks", field);
    *contents = memory_needed(strndup(value + 1, (size_t)(end - value) - 1));
    memset(field, ' ', (size_t)(end - field) + 1);
    return true;
}

/* Reads the fields behind the URI. */
static bool read_fields(struct reader *reader, char *rest, struct planned_request *request,
                        enum method *method, uint64_t *size, uint64_t *rows)
{
    for (const char *field; (field = strtok_r(NULL, " \t", &rest)) != NULL;) {
        uint32_t think_us = 0;
        if (strncmp(field, "method=", 7) == 0 && !reader->form->sql) {
            if (!read_method(reader, field + 7, method))
                return false;
        } else if (strncmp(field, "think=", 6) == 0) {
            if (!read_think(reader, field + 6, &think_us))
                return false;
            request->think_us = think_us;
            request->think_given = true;
        } else if (strncmp(field, "size=", 5) == 0) {
            if (!read_count(reader, field, "bytes", size))
                return false;
        } else if (strncmp(field, "rows=", 5) == 0 && reader->form->sql) {
            if (!read_count(reader, field, "rows", rows))
                return false;
        } else {
            return refuse(reader, "%s: expected %s=, contents=, think= or size=", field,
                          reader->form->sql ? "rows" : "method");
        }
    }
    return true;
}

/* Reads one request; `text` holds no leading white space and at least one word. */
static bool read_request(struct reader *reader, char *text, bool indented)
{
    char *rest, *contents;
    struct planned_request request = {.in_burst = indented};
    enum method method = METHOD_GET;
    uint64_t size = SIZE_UNKNOWN, rows = ROWS_UNKNOWN;

    if (!take_contents(reader, text, &contents))
        return false;
    const char *uri = strtok_r(text, " \t", &rest);
    bool ok = true;
    if (indented && !reader->in_burst)
        ok = refuse(reader,
                    "the line starts with white space, but no line of the session begins a burst before it");
    else if (*uri != '/')
        ok = refuse(reader, "%s: expected a URI that starts with /", uri);
    for (const char *c = uri; *c != '\0' && ok; c++)
        if (*c < ' ' || *c >= 127)
            ok = refuse(reader, "%s: a URI holds no control or non-ASCII characters", uri);
    ok = ok && read_fields(reader, rest, &request, &method, &size, &rows);
    if (ok && reader->form->sql && (contents == NULL || contents[strspn(contents, "; \t")] == '\0'))
        ok = refuse(reader, "%s: expected statements, contents=\"...\"", uri);
    if (ok && contents != NULL && !reader->form->sql && method != METHOD_POST)
        ok = refuse(reader, "contents=: only method=POST sends a body");
    if (ok && (reader->plan->request_count == UINT32_MAX || reader->plan->kind_count == KINDS_MAX))
        ok = refuse(reader, "the log has more than %u requests, or %u that differ", UINT32_MAX, KINDS_MAX);
    if (ok) {
        reader->in_burst = true;
        request.kind =
            intern(reader, reader->form->sql ? request_kind_make_sql(contents, size, rows)
                                             : request_kind_make(reader->form, method, uri, contents, size)) &
            KINDS_MAX;
        append_request(reader->plan, request);
    }
    free(contents);
    return ok;
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
        if (*text == '\0') {
            end_session(plan);
            reader.in_burst = false;
        } else if (*text != '#')
            ok = read_request(&reader, text, text != line);
    }
    end_session(plan);
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

/* Begins a plan whose requests are all the same one. */
static void begin_plan(struct session_plan *plan, const char *path, const struct request_form *form)
{
    *plan = (struct session_plan){.kind_count = 1};
    plan->kinds = memory_needed(malloc(sizeof(*plan->kinds)));
    plan->kinds[0] = request_kind_make(form, METHOD_GET, path, NULL, SIZE_UNKNOWN);
}

void sessions_repeat(struct session_plan *plan, const char *path, const struct request_form *form,
                     uint32_t requests)
{
    begin_plan(plan, path, form);
    for (uint32_t i = 0; i < requests; i++)
        append_request(plan, (struct planned_request){.in_burst = i > 0});
    end_session(plan);
}

void sessions_generate(struct session_plan *plan, const char *path, const struct request_form *form,
                       uint32_t requests, double shape, double minimum, uint64_t seed)
{
    begin_plan(plan, path, form);
    for (unsigned session = 0; session < GENERATED_SESSIONS; session++) {
        double left = 0; /* of the burst */
        for (uint32_t i = 0; i < requests; i++) {
            bool in_burst = left >= 1;
            left = (in_burst ? left : fmax(1, floor(random_pareto(&seed, shape, minimum)))) - 1;
            append_request(plan, (struct planned_request){.in_burst = in_burst});
        }
        end_session(plan);
    }
}

void sessions_free(struct session_plan *plan)
{
    for (uint32_t i = 0; i < plan->kind_count; i++)
        request_kind_free(&plan->kinds[i]);
    free(plan->kinds);
    free(plan->requests);
    free(plan->session_ends);
}
