/*
 * TLS towards the server.
 *
 * DESIGN. After the kernel's connection comes the handshake, without blocking: it goes on with each event of
 * the socket (HANDSHAKING). The asked share of the connections offers the session of an earlier one. Sessions
 * that servers hand out are kept, up to a number, and drawn from at random: as with visitors who come back,
 * any of many is offered, and not always the last. One of TLS 1.3 is offered once, as RFC 8446 §C.4 wants it
 * and OpenSSL does it. Each worker process has its own.
 *
 * A record is received whole and decrypted at once, so a short read says nothing about what is waiting. The
 * socket is read here and not by OpenSSL, so that it is known when a read has emptied it: one more, for that
 * alone, would cost as much as each of the others.
 */
#ifndef TRIMTAB_LOADGEN_TLS_H
#define TRIMTAB_LOADGEN_TLS_H

#include "loadgen/options.h"
#include "loadgen/transport.h"
#include "loadgen/url.h"

#include <stdbool.h>
#include <stddef.h>

extern const struct transport transport_tls;

struct tls;

/* Makes what the connections of a run share, as the options say; `url` names the server. To be called before
 * the worker processes are forked. Returns NULL, with a sentence in `error`, when a cipher or a file of
 * authorities is not to be had. */
struct tls *tls_new(const struct options *options, const struct url *url, char *error, size_t error_size);

/* Frees it, NULL too. No connection may be left. */
void tls_free(struct tls *tls);

#endif
