/*
 * See merge.h.
 */
#include "merge.h"

#include "report.h"
#include "result_file.h"

#include <string.h>

/* Returns in what two results that cannot be added up differ, NULL when they can. */
static const char *find_difference(const struct options *a, const struct options *b)
{
    if (a->mode != b->mode)
        return "mode";
    if (a->duration_s != b->duration_s)
        return "duration_s";
    if (a->warmup_s != b->warmup_s)
        return "warmup_s";
    if (a->timeout_s != b->timeout_s || a->connect_timeout_s != b->connect_timeout_s)
        return "timeout_s";
    return NULL;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static void add(struct loaded_result *total, const struct loaded_result *one)
{
    total->options.rate_rps += one->options.rate_rps;
    total->options.connections += one->options.connections;
    total->options.processes += one->options.processes;
    account_merge(total->account, one->account);
    total->elapsed_s = larger(total->elapsed_s, one->elapsed_s);
    total->window_s = larger(total->window_s, one->window_s);
    total->cpu_share = larger(total->cpu_share, one->cpu_share);
    total->interrupted = total->interrupted || one->interrupted;
}

bool merge_results(FILE *out, const struct options *options, char *error, size_t error_size)
{
    struct loaded_result total;
    const char *limited_file = NULL;
    char limited_reason[sizeof(total.limited)] = "";
    bool ok = result_file_read(&total, options->files[0], error, error_size);

    for (int i = 0; i < options->file_count && ok; i++) {
        struct loaded_result one;
        ok = result_file_read(&one, options->files[i], error, error_size);
        const char *difference = ok ? find_difference(&total.options, &one.options) : NULL;
        if (difference != NULL) {
            snprintf(error, error_size,
                     "%s: its %s is another one than that of %s: expected results of one load",
                     options->files[i], difference, options->files[0]);
            ok = false;
        }
        if (ok && i > 0)
            add(&total, &one);
        if (ok && one.limited[0] != '\0' && limited_file == NULL) {
            limited_file = options->files[i];
            memcpy(limited_reason, one.limited, sizeof(limited_reason));
        }
        result_file_free(&one);
    }
    if (ok) {
        struct health health;
        health_judge(&health, total.account, total.options.mode == MODE_CLOSED, total.cpu_share);
        if (limited_file != NULL)
            health_add_limited_part(&health, limited_file, limited_reason);
        struct result result = {
            .options = &total.options,
            .account = total.account,
            .health = &health,
            .elapsed_s = total.elapsed_s,
            .window_s = total.window_s,
            .interrupted = total.interrupted,
        };
        if (options->text)
            report_result_text(out, &result);
        else
            report_result(out, &result);
    }
    result_file_free(&total);
    return ok;
}
