/*
 * Addresses to listen at: IPv4 `127.0.0.1:8000` or IPv6 `[::1]:8000` literals.
 */
#ifndef TRIMTAB_HTTPD_CONFIG_ADDRESS_H
#define TRIMTAB_HTTPD_CONFIG_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define ADDRESS_TEXT_MAX 56 /* "[", 39 characters of IPv6, "]:65535" and room to spare */

struct listen_address {
    struct sockaddr_storage socket_address;
    socklen_t length;
};

/* Parses a literal with its port (0…65535; 0 lets the kernel choose). Returns false if it is none. */
bool address_parse(const char *text, struct listen_address *address);

/* Says whether a socket that is open at `open` is one for `wanted`: the same, or any port if that has port 0.
 */
bool address_matches(const struct listen_address *wanted, const struct listen_address *open);

/* Writes the address in the form that address_parse() reads. */
void address_format(const struct listen_address *address, char text[ADDRESS_TEXT_MAX]);

#endif
