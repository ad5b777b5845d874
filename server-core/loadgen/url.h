/*
 * The URL that the load goes to: http://HOST[:PORT][/PATH], HOST a name or an IP literal.
 */
#ifndef TRIMTAB_LOADGEN_URL_H
#define TRIMTAB_LOADGEN_URL_H

#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

struct url {
    char host[256];      /* as getaddrinfo(3) takes it: an IPv6 literal without its brackets */
    char port[6];        /* "80" when the URL names none */
    char authority[272]; /* HOST or HOST:PORT as written, for the Host field (RFC 9112 §3.2) */
    char path[2048];     /* path and query; "/" when the URL has none */
};

/* Takes `text` apart. Returns false and puts a sentence into `error` (error_size bytes) when it is not an
 * http URL of the form above. */
bool url_parse(struct url *url, const char *text, char *error, size_t error_size);

/* Looks up the address to connect to: the first one that getaddrinfo(3) gives. Returns false with a
 * sentence in `error` when there is none. */
bool url_resolve(const struct url *url, struct sockaddr_storage *address, socklen_t *length, char *error,
                 size_t error_size);

#endif
