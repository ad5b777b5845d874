/*
 * The order in which things were used, from the newest to the oldest: a list whose links are part of the
 * things. It may lie in memory that processes share at one address.
 */
#ifndef TRIMTAB_HTTPD_CACHE_LRU_H
#define TRIMTAB_HTTPD_CACHE_LRU_H

/* The first member of what is in such an order. */
struct lru_link {
    struct lru_link *newer, *older;
};

/* Zeroed: nothing is in it. */
struct lru {
    struct lru_link *newest, *oldest;
};

static inline void lru_remove(struct lru *lru, struct lru_link *link)
{
    *(link->newer ? &link->newer->older : &lru->newest) = link->older;
    *(link->older ? &link->older->newer : &lru->oldest) = link->newer;
}

/* Puts a link that is not in the order before all others. */
static inline void lru_add(struct lru *lru, struct lru_link *link)
{
    link->newer = 0;
    link->older = lru->newest;
    *(lru->newest ? &lru->newest->newer : &lru->oldest) = link;
    lru->newest = link;
}

/* Notes that a thing was used just now. */
static inline void lru_use(struct lru *lru, struct lru_link *link)
{
    if (link == lru->newest)
        return;
    lru_remove(lru, link);
    lru_add(lru, link);
}

#endif
