/*
 * See url.h.
 */
#include "url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copies `length` bytes as a string. Returns false when they do not fit. */
static bool copy_part(char *to, size_t size, const char *from, size_t length)
{
    if (length >= size)
        return false;
    memcpy(to, from, length);
    to[length] = '\0';
    return true;
}

static bool valid_port(const char *port)
{
    return strlen(port) == strspn(port, "0123456789") && atoi(port) >= 1 && atoi(port) <= 65535;
}

static const struct {
    const char *beginning;
    const char *port;
    const char *refused; /* characters that do not belong into such a URL */
    const char *reason;
} schemes[] = {
    [URL_HTTP] = {"http://", "80", "#@", "user names and fragments are not supported"},
    [URL_HTTPS] = {"https://", "443", "#@", "user names and fragments are not supported"},
    [URL_MARIADB] = {"mariadb://", "3306", "#?", "expected mariadb://USER@HOST[:PORT]/DATABASE"},
};

const char *url_beginning(enum url_scheme scheme)
{
    return schemes[scheme].beginning;
}

enum url_scheme url_scheme_of(const char *text)
{
    for (enum url_scheme scheme = URL_HTTPS; scheme <= URL_MARIADB; scheme++)
        if (strncmp(text, url_beginning(scheme), strlen(url_beginning(scheme))) == 0)
            return scheme;
    return URL_HTTP;
}

bool url_parse(struct url *url, const char *text, char *error, size_t error_size)
{
    const char *problem = NULL;
    const enum url_scheme scheme = url_scheme_of(text);
    const size_t begun = strlen(url_beginning(scheme));

    /* What may stand in a request line is what is neither a space nor a control character; the rest of the
     * syntax is the server's to judge. */
    for (const char *c = text; *c != '\0'; c++)
        if (*c <= ' ' || *c >= 127)
            problem = "a URL holds no spaces, control or non-ASCII characters";
    if (problem == NULL && strncmp(text, url_beginning(scheme), begun) != 0)
        problem = "expected http://HOST[:PORT][/PATH], or https";
    if (problem == NULL && strpbrk(text, schemes[scheme].refused) != NULL)
        problem = schemes[scheme].reason;
    if (problem != NULL)
        goto refused;

    url->scheme = scheme;
    url->user[0] = '\0';
    const char *authority = text + begun;
    const size_t user_length = strcspn(authority, "@/");
    if (authority[user_length] == '@') {
        if (!copy_part(url->user, sizeof(url->user), authority, user_length)) {
            problem = "the user name is too long";
            goto refused;
        }
        authority += user_length + 1;
    }
    size_t authority_length = strcspn(authority, "/?");
    const char *path = authority + authority_length;
    const char *host = authority;
    size_t host_length = strcspn(host, ":/?");
    const char *after_host = host + host_length;
    if (*authority == '[') {
        host = authority + 1;
        host_length = strcspn(host, "]/?");
        if (host[host_length] != ']') {
            problem = "the IPv6 address lacks its closing bracket";
            goto refused;
        }
        after_host = host + host_length + 1;
    }

    size_t port_length = (size_t)(path - after_host);
    if (port_length == 0)
        strcpy(url->port, schemes[scheme].port);
    else if (*after_host != ':' ||
             !copy_part(url->port, sizeof(url->port), after_host + 1, port_length - 1) ||
             !valid_port(url->port))
        problem = "expected a port from 1 to 65535";
    if (host_length == 0)
        problem = "the host is missing";
    else if (!copy_part(url->host, sizeof(url->host), host, host_length) ||
             !copy_part(url->authority, sizeof(url->authority), authority, authority_length))
        problem = "the host is too long";
    else if (snprintf(url->path, sizeof(url->path), "%s%s", *path == '/' ? "" : "/", path) >=
             (int)sizeof(url->path))
        problem = "the path is longer than 2,047 bytes";
    if (problem == NULL)
        return true;

refused:
    snprintf(error, error_size, "--url %s: %s", text, problem);
    return false;
}

bool url_resolve(const struct url *url, struct sockaddr_storage *address, socklen_t *length, char *error,
                 size_t error_size)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    int status = getaddrinfo(url->host, url->port, &hints, &found);

    if (status != 0) {
        snprintf(error, error_size, "host %s: no address was found: %s", url->host, gai_strerror(status));
        return false;
    }
    memcpy(address, found->ai_addr, found->ai_addrlen);
    *length = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}
