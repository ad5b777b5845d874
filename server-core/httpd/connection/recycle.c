/*
 * See recycle.h.
 */
#include "httpd/connection/recycle.h"

struct search {
    bool (*fits)(const struct connection *connection, const void *user);
    const void *user;
    struct connection *found;
};

/* Called with each connection's timer. */
static void compare(void *user, struct timer *timer)
{
    struct search *search = user;
    struct connection *connection = connection_of_timer(timer);

    if (connection_is_idle(connection) && (!search->fits || search->fits(connection, search->user)) &&
        (!search->found || connection->started_ns < search->found->started_ns))
        search->found = connection;
}

static struct connection *idle_longest(struct worker *worker, struct search search)
{
    timers_for_each(&worker->timers, compare, &search);
    return search.found;
}

static bool may_give_way(const struct worker *worker, const struct connection *connection)
{
    return connection && connection->started_ns + RECYCLE_IDLE_NS <= worker->now_ns;
}

struct connection *recycle_choose(struct worker *worker,
                                  bool (*fits)(const struct connection *connection, const void *user),
                                  const void *user)
{
    struct connection *connection = idle_longest(worker, (struct search){.fits = fits, .user = user});

    return may_give_way(worker, connection) ? connection : NULL;
}

bool recycling_look(struct recycling *recycling, struct worker *worker)
{
    const struct connection *connection = idle_longest(worker, (struct search){0});

    recycling->possible = may_give_way(worker, connection);
    recycling->again_ns = (connection ? connection->started_ns : worker->now_ns) + RECYCLE_IDLE_NS;
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
