/*
 * See recycle.h.
 */
#include "httpd/connection/recycle.h"

struct search {
    struct recycling *recycling;
    bool (*fits)(const struct connection *connection, const void *user);
    const void *user;
};

/* Called with each connection's timer: remembers those that have been idle longest, in their order. */
static void remember(void *user, struct timer *timer)
{
    const struct search *search = user;
    struct recycling *recycling = search->recycling;
    struct connection *connection = connection_of_timer(timer);
    unsigned place = recycling->known_count;

    if (!connection_is_idle(connection) || (search->fits && !search->fits(connection, search->user)))
        return;
    if (place < RECYCLE_KNOWN)
        recycling->known_count++;
    else if (connection->started_ns < recycling->known[place - 1].since_ns)
        place--;
    else
        return;
    for (; place > 0 && connection->started_ns < recycling->known[place - 1].since_ns; place--)
        recycling->known[place] = recycling->known[place - 1];
    recycling->known[place] = (struct idle_connection){connection, connection->started_ns};
}

/* Says whether a connection has been idle all the time. Its structure may be that of another by now, which
 * has come later. */
static bool is_idle_still(const struct idle_connection *known)
{
    return connection_is_idle(known->connection) && known->connection->started_ns == known->since_ns;
}

/* Returns the connection that has been idle longest; NULL if none has been for RECYCLE_IDLE_NS. All are
 * looked through when as many as can be remembered have given way, or when others may have been idle long
 * enough. */
static struct connection *idle_longest(struct recycling *recycling, struct worker *worker,
                                       bool (*fits)(const struct connection *connection, const void *user),
                                       const void *user)
{
    while (recycling->next < recycling->known_count && !is_idle_still(&recycling->known[recycling->next]))
        recycling->next++;
    if (recycling->next == recycling->known_count &&
        (recycling->known_count == RECYCLE_KNOWN ||
         worker->now_ns >= recycling->looked_ns + RECYCLE_IDLE_NS)) {
        recycling->known_count = recycling->next = 0;
        recycling->looked_ns = worker->now_ns;
        timers_for_each(&worker->timers, remember, &(struct search){recycling, fits, user});
    }
    return recycling->next < recycling->known_count ? recycling->known[recycling->next].connection : NULL;
}

static bool may_give_way(const struct worker *worker, const struct connection *connection)
{
    return connection && connection->started_ns + RECYCLE_IDLE_NS <= worker->now_ns;
}

struct connection *recycle_choose(struct recycling *recycling, struct worker *worker,
                                  bool (*fits)(const struct connection *connection, const void *user),
                                  const void *user)
{
    struct connection *connection = idle_longest(recycling, worker, fits, user);

    return may_give_way(worker, connection) ? connection : NULL;
}

bool recycling_look(struct recycling *recycling, struct worker *worker)
{
    const struct connection *connection = idle_longest(recycling, worker, NULL, NULL);

    recycling->possible = may_give_way(worker, connection);
    recycling->again_ns = (connection ? connection->started_ns : recycling->looked_ns) + RECYCLE_IDLE_NS;
    return recycling->possible;
}

uint64_t recycle_connections_open(const struct worker *worker)
{
    const unsigned parts = worker->layout.parts;
    uint64_t open = 0;

    for (unsigned row = worker->row % parts; row < worker->layout.serving; row += parts) {
        const struct counters *counters = worker_counters(worker, row);

        open += __atomic_load_n(&counters->connections_open, __ATOMIC_RELAXED);
    }
    return open;
}

/* Of those who share their listeners whoever has a free place takes the client. */
static bool others_have_places(const struct worker *worker)
{
    const unsigned parts = worker->layout.parts;
    const int64_t in_all = worker_connections_in_all(worker);
    int64_t places = 0;

    for (unsigned row = worker->row % parts; row < worker->layout.serving; row += parts)
        places += config_share(in_all, worker->layout.serving, row);
    return (int64_t)recycle_connections_open(worker) < places;
}

bool recycling_is_possible(struct recycling *recycling, struct worker *worker)
{
    if (others_have_places(worker)) {
        recycling->possible = false;
        recycling->again_ns = worker->now_ns + RECYCLE_IDLE_NS; /* nobody tells us when they have none left */
    } else if (!recycling->possible && worker->now_ns >= recycling->again_ns) {
        recycling_look(recycling, worker);
    }
    return recycling->possible;
}
