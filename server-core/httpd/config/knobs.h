/*
 * The knobs of the server: one table from which parsing, checking, `-t`, `show config`, `--set`, `set` and
 * the messages about unknown keys and bad values all derive.
 *
 * A new knob is one name in enum knob_id and one row in knobs.c.
 */
#ifndef TRIMTAB_HTTPD_CONFIG_KNOBS_H
#define TRIMTAB_HTTPD_CONFIG_KNOBS_H

#include "httpd/config/address.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum knob_id {
    KNOB_ROOT,
    KNOB_LISTEN,
    KNOB_STATS_SOCKET,
    KNOB_ACCESS_LOG,
    KNOB_USER,
    KNOB_GROUP,
    KNOB_MIME_TYPES,
    KNOB_CHARSET,
    KNOB_PRECOMPRESSED,
    KNOB_ARCHITECTURE,
    KNOB_EVENTS,
    KNOB_SENDFILE,
    KNOB_WORKERS,
    KNOB_MAX_CONNECTIONS,
    KNOB_ACCEPT_LIMIT,
    KNOB_BACKLOG,
    KNOB_SNDBUF,
    KNOB_AFFINITY,
    KNOB_CACHE_ENTRIES,
    KNOB_CACHE_MB,
    KNOB_CACHE_LOCK,
    KNOB_REUSEPORT,
    KNOB_COPIES,
    KNOB_COPY_OF,
    KNOB_HELPERS,
    KNOB_FORWARD_BIAS,
    KNOB_READERS,
    KNOB_POLL_DELAY_US,
    KNOB_STAGE_THREADS,
    KNOB_STAGE_BATCH,
    KNOB_ADMISSION_P90_MS,
    KNOB_LARGE_TRANSFER,
    KNOB_THREAD_POOL,
    KNOB_KEEPALIVE_TIMEOUT,
    KNOB_REQUEST_TIMEOUT,
    KNOB_MIN_BYTES_PER_S,
    KNOB_COUNT
};

enum knob_kind {
    KNOB_PATH,
    KNOB_NAME,            /* letters, digits and few signs */
    KNOB_ADDRESSES,       /* comma-separated address:port */
    KNOB_CPUS,            /* comma-separated CPU numbers, or `none`, or `auto` */
    KNOB_CHOICE,          /* one of a list of names */
    KNOB_INTEGER,         /* low…high */
    KNOB_INTEGER_OR_WORD, /* low…high, or one of a list of words */
    KNOB_SECONDS,         /* low…high, fractions allowed */
};

#define KNOB_WORD(index)  (INT64_MAX - (index)) /* what a word in the place of an integer is stored as */
#define KNOB_INF          KNOB_WORD(0)
#define KNOB_AUTO         KNOB_WORD(1)
#define KNOB_OFF          KNOB_WORD(0)
#define KNOB_ELEMENTS_MAX 1024 /* of a list: addresses or CPUs */

enum sendfile_mode { SENDFILE_NONBLOCKING, SENDFILE_BLOCKING, SENDFILE_OFF };
enum cache_lock { CACHE_LOCK_MUTEX, CACHE_LOCK_RW };
enum switch_position { SWITCH_OFF, SWITCH_ON };
enum stage_size { STAGE_FIXED, STAGE_ADAPTIVE };
enum thread_pool { THREAD_POOL_FIXED, THREAD_POOL_ON_DEMAND };
enum large_transfer { LARGE_TRANSFER_THREAD, LARGE_TRANSFER_CONTINUATION };

struct knob {
    const char *name;
    enum knob_kind kind;
    int64_t low, high;
    const char *(*choice)(size_t index); /* the names of a KNOB_CHOICE, or words; NULL behind the last */
    const char *default_text;            /* NULL: the knob must be given (required) or is unset */
    bool required;
    bool live; /* may be changed by `set` while the server runs */
    const char *help;
};

struct knob_value {
    bool given;      /* by the file or by --set; otherwise the default stands */
    char *origin;    /* "FILE:7" or "--set"; NULL for a default */
    char *text;      /* KNOB_PATH, KNOB_NAME; NULL when unset */
    int64_t integer; /* integers; index of a choice */
    double seconds;
    struct listen_address *addresses;
    int *cpus;
    size_t count; /* of addresses or cpus */
};

extern const struct knob KNOBS[KNOB_COUNT];

/* Return the name of architecture `index`, and of number `index` of those that can be copied, or NULL behind
 * the last; the table of them (arch/architectures.c), which knows the knobs, says it. */
const char *architecture_name(size_t index);
const char *architecture_copied_name(size_t index);

/* Returns the id of the knob called `name`, or KNOB_COUNT. */
enum knob_id knob_find(const char *name);

/*
 * Parses `text` into *value (whose earlier contents are released). Returns false when the text is not
 * acceptable and leaves *value alone; knob_expected() then says what would have been.
 */
bool knob_parse(const struct knob *knob, const char *text, struct knob_value *value);

/* Writes the sentence part "an integer from 1 to 1024" into `text`. */
void knob_expected(const struct knob *knob, char *text, size_t size);

/* Says whether a word stands in the place of the integer. */
bool knob_is_word(const struct knob *knob, const struct knob_value *value);

/* Writes a value as it would stand in the configuration file; "" when unset. Returns the length. */
size_t knob_format(const struct knob *knob, const struct knob_value *value, char *text, size_t size);

/* Frees what a value owns. */
void knob_release(struct knob_value *value);

#endif
