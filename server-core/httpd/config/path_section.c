/*
 * See path_section.h.
 */
#include "httpd/config/path_section.h"

#include "common/field_characters.h"
#include "httpd/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define EXPIRES_MAX_S (10 * INT64_C(366) * 86400)

bool path_section_begin(struct presentation *presentation, size_t host, const char *prefix,
                        const char *origin)
{
    struct path_rule *rules;
    char *key = NULL;

    if (*prefix != '/' || prefix[1] == '/') { /* two: it would look like a host's key (hosts.h) */
        log_error("%s: [path %.100s]: expected a path that begins with one slash", origin, prefix);
        return false;
    }
    if ((host > 0 ? asprintf(&key, "/%zu%s", host, prefix) : asprintf(&key, "%s", prefix + 1)) < 0)
        return false;
    for (size_t i = 0; i < presentation->rule_count; i++) {
        if (strcmp(presentation->rules[i].key, key) == 0) {
            log_error("%s: [path %.100s]: given already", origin, prefix);
            free(key);
            return false;
        }
    }
    rules = realloc(presentation->rules, (presentation->rule_count + 1) * sizeof(*rules));
    if (!rules) {
        free(key);
        return false;
    }
    presentation->rules = rules;
    rules[presentation->rule_count++] = (struct path_rule){.key = key, .lines = strdup(""), .expires_s = -1};
    return true;
}

/* Says whether a header is made by the server itself, or would break the framing of a reply. */
static bool is_ours(const char *name, size_t length)
{
    static const char *const ours[] = {
        "Accept-Ranges",
        "Connection",
        "Content-Encoding",
        "Content-Length",
        "Content-Range",
        "Content-Type",
        "Date",
        "ETag",
        "Keep-Alive",
        "Last-Modified",
        "Location",
        "Server",
        "Trailer",
        "Transfer-Encoding",
        "Upgrade",
    };

    for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++) {
        if (strlen(ours[i]) == length && strncasecmp(ours[i], name, length) == 0)
            return true;
    }
    return false;
}

/* Says what is wrong with a header line "Name: value"; NULL: nothing. */
static const char *mistake(const char *line, size_t length_before)
{
    const char *colon = strchr(line, ':');
    const char *value = colon ? colon + 1 + strspn(colon + 1, " \t") : "";

    if (!colon || colon == line || *value == '\0')
        return "expected Name: value";
    for (const char *at = line; at < colon; at++) {
        if (!field_name_character(*at))
            return "expected a name of letters, digits and dashes";
    }
    for (const char *at = value; *at; at++) {
        if (!field_value_character(*at))
            return "expected a value without control characters";
    }
    if (is_ours(line, (size_t)(colon - line)))
        return "the server itself says that";
    if (length_before + strlen(line) + strlen(" \r\n") + 1 > PATH_LINES_MAX)
        return "the lines of one path are too long together";
    return NULL;
}

static bool add_header(struct path_rule *rule, const char *text, const char *origin)
{
    const size_t name_length = strcspn(text, ":");
    const char *sentence = mistake(text, strlen(rule->lines));
    char *lines = NULL;

    if (!sentence && asprintf(&lines, "%s%.*s: %s\r\n", rule->lines, (int)name_length, text,
                              text + name_length + 1 + strspn(text + name_length + 1, " \t")) < 0)
        sentence = "there is no memory";
    if (sentence) {
        log_error("%s: header = %.100s: %s", origin, text, sentence);
        return false;
    }
    free(rule->lines);
    rule->lines = lines;
    return true;
}

static bool set_expires(struct path_rule *rule, const char *text, const char *origin)
{
    const size_t digits = strspn(text, "0123456789");
    const int64_t seconds = digits > 0 && digits < 12 && text[digits] == '\0' ? atoll(text) : -1;

    if (rule->expires_s >= 0 || seconds < 0 || seconds > EXPIRES_MAX_S) {
        log_error("%s: expires_s = %.100s: expected, once, seconds from 0 to %" PRId64, origin, text,
                  EXPIRES_MAX_S);
        return false;
    }
    rule->expires_s = seconds;
    return true;
}

bool path_section_set(struct presentation *presentation, const char *name, const char *text,
                      const char *origin)
{
    struct path_rule *rule = &presentation->rules[presentation->rule_count - 1];

    if (strcmp(name, "header") == 0)
        return add_header(rule, text, origin);
    if (strcmp(name, "expires_s") == 0)
        return set_expires(rule, text, origin);
    log_error("%s: unknown key %.100s in a section [path]: expected one of header, expires_s", origin, name);
    return false;
}

void path_sections_print(const struct presentation *presentation, size_t host, FILE *out)
{
    for (size_t i = 0; i < presentation->rule_count; i++) {
        const struct path_rule *rule = &presentation->rules[i];
        const bool of_host = *rule->key == '/';

        if ((of_host ? strtoul(rule->key + 1, NULL, 10) : 0) != host)
            continue;
        fprintf(out, "[path /%s]\n", of_host ? strchr(rule->key + 1, '/') + 1 : rule->key);
        if (rule->expires_s >= 0)
            fprintf(out, "expires_s = %" PRId64 "\n", rule->expires_s);
        for (const char *line = rule->lines; *line; line = strchr(line, '\n') + 1)
            fprintf(out, "header = %.*s\n", (int)strcspn(line, "\r"), line);
    }
}
