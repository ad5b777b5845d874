/*
 * How a reply gets out to a socket: by sendfile from the kernel's page cache, or by write from contents in
 * memory. A reply is sent pass by pass; between two passes others have their turn (turns.h).
 *
 * Nothing here knows connections or workers, so a reply can be sent by another thread than the one that has
 * made it.
 */
#ifndef TRIMTAB_HTTPD_SEND_DELIVERY_H
#define TRIMTAB_HTTPD_SEND_DELIVERY_H

#include "httpd/cache/file_cache.h"
#include "httpd/http/reply.h"
#include "httpd/send/sendfile.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct contents;
struct contents_cache;

/* What is sent at most before others have their turn, where the socket does not block. The largest files of
 * the SPECweb99 mix leave in one pass. But once replies of CROWD_BYTES in all have begun in one turn of the
 * loop, further ones begin with a short pass, so that a crowd with large requests is soon through. */
#define PASS_BYTES       (1 << 20)
#define SHORT_PASS_BYTES (128 << 10)
#define CROWD_BYTES      (16 << 20)

/* Zeroed: no reply, and a socket that does not block. */
struct delivery {
    struct cached_file *file;  /* that the reply is about; NULL: none */
    struct contents *contents; /* of it, if they are sent from memory */
    uint8_t sendfile;          /* enum sendfile_mode of this reply */
    bool blocking;             /* mode of the socket */
    bool begun;                /* the first pass is over */
    bool in_crowd;             /* many began with it */
};

/* Prepares to send a reply in mode `sendfile`; changes the mode of the socket if need be. */
void delivery_begin(struct delivery *delivery, const struct reply *reply, int socket,
                    enum sendfile_mode sendfile, struct contents_cache *contents, struct counters *counters);

/* Returns how many bytes of the reply may be sent before it is others' turn. */
off_t delivery_pass_bytes(const struct delivery *delivery);

/*
 * Makes one pass: sends until the reply is out, the socket is full or it is others' turn. With `checked` it
 * sends the file up to *checked only, and returns SEND_HELD there; when another range begins *checked is set
 * to its beginning.
 */
enum send_outcome delivery_pass(struct delivery *delivery, struct reply *reply, int socket, off_t *checked,
                                struct counters *counters);

/* Gives back the file and its contents. */
void delivery_end(struct delivery *delivery);

#endif
