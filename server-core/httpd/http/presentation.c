/*
 * See presentation.h.
 */
#include "httpd/http/presentation.h"

#include "httpd/http/date.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Returns the rule that says most precisely what a key begins with; NULL: none does. */
static const struct path_rule *find_rule(const struct presentation *presentation, const char *key)
{
    const struct path_rule *found = NULL;
    size_t found_length = 0;

    for (size_t i = 0; i < presentation->rule_count; i++) {
        const struct path_rule *rule = &presentation->rules[i];
        const size_t length = strlen(rule->key);

        if ((*rule->key == '/') == (*key == '/') && (!found || length > found_length) &&
            strncmp(key, rule->key, length) == 0) {
            found = rule;
            found_length = length;
        }
    }
    return found;
}

int64_t presentation_lines(const struct presentation *presentation, const char *key, enum coding coding,
                           unsigned codings, time_t now, char lines[PRESENTATION_LINES_MAX])
{
    const struct path_rule *rule = find_rule(presentation, key);
    struct http_date expires = {0};
    size_t length = 0;

    *lines = '\0';
    if (coding != CODING_NONE)
        length +=
            (size_t)snprintf(lines, PRESENTATION_LINES_MAX, "Content-Encoding: %s\r\n", CODINGS[coding].name);
    if (codings != 0)
        length +=
            (size_t)snprintf(lines + length, PRESENTATION_LINES_MAX - length, "Vary: Accept-Encoding\r\n");
    if (!rule)
        return -1;
    length += (size_t)snprintf(lines + length, PRESENTATION_LINES_MAX - length, "%s", rule->lines);
    if (rule->expires_s < 0)
        return -1;
    http_date_update(&expires, now + (time_t)rule->expires_s);
    snprintf(lines + length, PRESENTATION_LINES_MAX - length,
             "Cache-Control: max-age=%" PRId64 "\r\nExpires: %s\r\n", rule->expires_s, expires.text);
    return rule->expires_s;
}

void presentation_release(struct presentation *presentation)
{
    for (size_t i = 0; i < presentation->rule_count; i++) {
        free(presentation->rules[i].key);
        free(presentation->rules[i].lines);
    }
    free(presentation->rules);
    if (presentation->types)
        mime_types_destroy(presentation->types);
    *presentation = (struct presentation){0};
}
