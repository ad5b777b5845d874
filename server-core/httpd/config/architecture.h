/*
 * What an architecture is to the rest of the server: a name, the knobs it understands, how it is laid out in
 * processes, and the code that each of these runs.
 *
 * A new architecture is one file that defines a `struct architecture`, its declaration and its line in the
 * table in arch/architectures.h and .c, and the file's name in meson.build. It is built from the same parts
 * as all others (connection.h, file_cache.h, io/), so that a difference between two architectures is a
 * difference of architecture; what it does with connections in its own way is in its driver (driver.h).
 *
 * LAYOUT. The master forks `processes` processes and replaces those that die. Whatever counts, be it a
 * process or a thread in one, has a row of counters of its own. Row i belongs to process i as long as there
 * are processes; further rows are for threads and stages.
 */
#ifndef TRIMTAB_HTTPD_CONFIG_ARCHITECTURE_H
#define TRIMTAB_HTTPD_CONFIG_ARCHITECTURE_H

#include "httpd/config/config.h"

#include <stdbool.h>
#include <stddef.h>

struct driver;
struct master;
struct worker;

struct layout {
    unsigned processes;          /* that the master forks */
    unsigned rows;               /* of counters; at least one for each process */
    unsigned serving;            /* the first so many rows accept, and share max_connections */
    unsigned descriptor_tables;  /* that connections are divided over; fewer where processes share one */
    unsigned shared_descriptors; /* not 0: the processes share the master's descriptor table, and need so many
                                  * descriptors beside connections and files */
    unsigned connection_mappings; /* of memory, that a process has for each connection and each cached file */
    unsigned file_mappings;
    bool blocking_listeners; /* listeners are in blocking mode */
    bool has_rings;          /* processes work with rings of io_uring, as they do where that is `events` */
    unsigned listener_sets;  /* how often each address is opened: more than once with `reuseport` only */
    unsigned parts;          /* of those that serve: row i has the same listeners as row i + parts */
};

/* What a row of counters is for. */
struct row_description {
    const char *role;      /* "worker", "helper", "acceptor", "writer"… */
    unsigned process;      /* that writes it */
    unsigned cpu_position; /* of the process or thread in `affinity`, modulo its length */
};

struct architecture {
    const char *name;
    const char *help;

    /* The knobs it understands beside those that every architecture does (COMMON_KNOBS in architecture.c);
     * ends with KNOB_COUNT. All others must keep their defaults. With KNOB_COPY_OF it understands those of
     * all that can be copied as well. */
    const enum knob_id *knobs;

    /* n-copy may have copies of it: what its processes share is made after they are forked, or knows of
     * copies. */
    bool can_be_copied;

    /* What `workers` is when it is not given; 0: as for all others. */
    unsigned workers_default;

    /* It accepts and works in turns, and so can balance the two (accept_policy.h). */
    bool balances_accepting;

    /* Checks what concerns this architecture alone; config_refuse() says what is wrong. Returns false if
     * anything is. NULL: nothing to check. */
    bool (*check)(const struct config *config);

    /* Fills in the layout. NULL: `workers` processes that all serve, each with a descriptor table of its own,
     * and with `reuseport` each with listeners of its own. */
    void (*lay_out)(const struct config *config, struct layout *layout);

    /* Says what row `row` is for. NULL: a "worker", process and place in `affinity` of the same number. */
    struct row_description (*describe_row)(const struct config *config, unsigned row);

    /* Makes, in the master and before the first fork, what the processes share: memory, sockets between
     * them, listeners for some of them. What it leaves in master->common is in worker->common. It lives
     * as long as the server, so a process that is replaced finds it again. Logs what is wrong and returns
     * false. NULL: nothing. */
    bool (*prepare)(struct master *master);

    /* Gives back what prepare() made, but for master->common itself, after all processes have ended. NULL:
     * there is nothing. */
    void (*release)(struct master *master);

    /* Clears up, in the master, after process `process` has died and before it is replaced. NULL: there is
     * nothing that the kernel does not do. */
    void (*bury)(struct master *master, unsigned process);

    /* Chooses the listeners of a process: sets worker->listeners and worker->listener_count. NULL: set
     * number `process` modulo the number of sets. */
    void (*choose_listeners)(const struct master *master, struct worker *worker);

    /* How its connections wait and its replies get out (driver.h). NULL: in the usual way. */
    const struct driver *driver;

    /* What a process does: serves until it is told to shut down and its last connection is closed. Returns
     * the exit code of the process. */
    int (*run)(struct worker *worker);
};

/* All of them. The table lies in arch/, for what is declared here knows no architecture by name. */
extern const struct architecture *const ARCHITECTURES[];
extern const size_t ARCHITECTURE_COUNT;

/* Returns entry `index` of the table of architectures, or NULL behind the last. */
const struct architecture *architecture_at(size_t index);

/* Returns the architecture that the configuration names. */
const struct architecture *architecture_of(const struct config *config);

/* Returns the one that accepts and serves: of copies, that which is copied. */
const struct architecture *architecture_that_serves(const struct config *config);

bool architecture_understands(const struct architecture *architecture, enum knob_id id);

/* The layout of the configured architecture, and what one of its rows is for. */
struct layout architecture_layout(const struct config *config);
struct row_description architecture_row(const struct config *config, unsigned row);

#endif
