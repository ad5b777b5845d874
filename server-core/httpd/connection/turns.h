/*
 * Whose turn it is to send more. The first piece of a reply leaves as soon as its request has been read, and
 * most replies leave whole; what is left of a large one goes on here, after all others that have something
 * left, and only a little at a time before new requests are looked at. So neither the number of large
 * replies nor how fast they are taken matters to who wants a small one.
 */
#ifndef TRIMTAB_HTTPD_CONNECTION_TURNS_H
#define TRIMTAB_HTTPD_CONNECTION_TURNS_H

struct connection;

/* The connections that could go on, in the order of their turns. Zeroed: there is none. */
struct turns {
    struct connection *first, *last;
};

/* Puts a connection at the end, unless it is there already. */
void turns_append(struct turns *turns, struct connection *connection);

/* Takes the one whose turn it is; NULL if there is none. */
struct connection *turns_take(struct turns *turns);

/* Takes a connection out, if it is there. */
void turns_remove(struct turns *turns, struct connection *connection);

#endif
