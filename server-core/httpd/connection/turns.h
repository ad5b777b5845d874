/*
 * Whose turn it is to send more. The first piece of a reply leaves as soon as its request has been read, and
 * most replies leave whole; what is left of a large one goes on here, after all others that have something
 * left, and only a little at a time before new requests are looked at. So neither the number of large
 * replies nor how fast they are taken matters to who wants a small one.
 */
#ifndef TRIMTAB_HTTPD_CONNECTION_TURNS_H
#define TRIMTAB_HTTPD_CONNECTION_TURNS_H

#include <stdbool.h>

/* Part of what waits for its turn. Zeroed: it does not. */
struct turn {
    struct turn *before, *after;
    bool waits;
};

/* Those that could go on, in their order. Zeroed: there is none. */
struct turns {
    struct turn *first, *last;
};

/* Puts one at the end, unless it is there already. */
void turns_append(struct turns *turns, struct turn *turn);

/* Takes the one whose turn it is; NULL if there is none. */
struct turn *turns_take(struct turns *turns);

/* Takes one out, if it is there. */
void turns_remove(struct turns *turns, struct turn *turn);

#endif
