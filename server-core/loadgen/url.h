/*
 * The URL that the load goes to: http://HOST[:PORT][/PATH] or https, or mariadb://USER@HOST[:PORT]/DATABASE;
 * HOST is a name or an IP literal.
 */
#ifndef TRIMTAB_LOADGEN_URL_H
#define TRIMTAB_LOADGEN_URL_H

#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

enum url_scheme { URL_HTTP, URL_HTTPS, URL_MARIADB };

struct url {
    enum url_scheme scheme;
    char user[336];      /* of mariadb; empty when the URL names none */
    char host[256];      /* as getaddrinfo(3) takes it: an IPv6 literal without its brackets */
    char port[6];        /* of the scheme when the URL names none */
    char authority[272]; /* HOST or HOST:PORT as written, as for the Host field (RFC 9112 §3.2) */
    char path[2048];     /* path and query; "/" when the URL has none */
};

/* Takes `text` apart. Returns false and puts a sentence into `error` (error_size bytes) when it is not an
 * URL of one of the forms above, but that a user may be missing. */
bool url_parse(struct url *url, const char *text, char *error, size_t error_size);

/* The scheme of a URL; URL_HTTP where it has none of those. */
enum url_scheme url_scheme_of(const char *text);

/* The beginning of a scheme's URLs. */
const char *url_beginning(enum url_scheme scheme);

/* Looks up the address to connect to: the first one that getaddrinfo(3) gives. Returns false with a
 * sentence in `error` when there is none. */
bool url_resolve(const struct url *url, struct sockaddr_storage *address, socklen_t *length, char *error,
                 size_t error_size);

#endif
