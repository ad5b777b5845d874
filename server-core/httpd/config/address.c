/*
 * See address.h.
 */
#include "httpd/config/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Reads a decimal port; returns -1 unless the text is exactly one number from 0 to 65535. */
static int parse_port(const char *text)
{
    int port = 0;

    if (*text == '\0' || strlen(text) > 5)
        return -1;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return -1;
        port = port * 10 + (*text - '0');
    }
    return port <= UINT16_MAX ? port : -1;
}

bool address_parse(const char *text, struct listen_address *address)
{
    const char *colon = strrchr(text, ':');
    char host[INET6_ADDRSTRLEN + 2];
    const size_t host_length = colon ? (size_t)(colon - text) : 0;
    const int port = colon ? parse_port(colon + 1) : -1;

    if (port < 0 || host_length >= sizeof(host))
        return false;
    memcpy(host, text, host_length);
    host[host_length] = '\0';
    memset(address, 0, sizeof(*address));

    if (host[0] == '[' && host[host_length - 1] == ']') {
        struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)&address->socket_address;

        host[host_length - 1] = '\0';
        ipv6->sin6_family = AF_INET6;
        ipv6->sin6_port = htons((uint16_t)port);
        address->length = sizeof(*ipv6);
        return inet_pton(AF_INET6, host + 1, &ipv6->sin6_addr) == 1;
    }

    struct sockaddr_in *ipv4 = (struct sockaddr_in *)&address->socket_address;

    ipv4->sin_family = AF_INET;
    ipv4->sin_port = htons((uint16_t)port);
    address->length = sizeof(*ipv4);
    return inet_pton(AF_INET, host, &ipv4->sin_addr) == 1;
}

bool address_matches(const struct listen_address *wanted, const struct listen_address *open)
{
    struct listen_address other = *open;
    char wanted_text[ADDRESS_TEXT_MAX], open_text[ADDRESS_TEXT_MAX];
    /* Both families have the port in the same place. */
    in_port_t *port = &((struct sockaddr_in *)&other.socket_address)->sin_port;

    if (((const struct sockaddr_in *)&wanted->socket_address)->sin_port == 0)
        *port = 0;
    address_format(wanted, wanted_text);
    address_format(&other, open_text);
    return strcmp(wanted_text, open_text) == 0;
}

void address_format(const struct listen_address *address, char text[ADDRESS_TEXT_MAX])
{
    char host[INET6_ADDRSTRLEN] = "";

    if (address->socket_address.ss_family == AF_INET6) {
        const struct sockaddr_in6 *ipv6 = (const struct sockaddr_in6 *)&address->socket_address;

        inet_ntop(AF_INET6, &ipv6->sin6_addr, host, sizeof(host));
        snprintf(text, ADDRESS_TEXT_MAX, "[%s]:%u", host, ntohs(ipv6->sin6_port));
    } else {
        const struct sockaddr_in *ipv4 = (const struct sockaddr_in *)&address->socket_address;

        inet_ntop(AF_INET, &ipv4->sin_addr, host, sizeof(host));
        snprintf(text, ADDRESS_TEXT_MAX, "%s:%u", host, ntohs(ipv4->sin_port));
    }
}
