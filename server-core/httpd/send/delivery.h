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
    off_t checked;             /* the range of the file is known to be in memory up to here */
};

/* Prepares to send a reply in mode `sendfile`; changes the mode of the socket if need be. */
void delivery_begin(struct delivery *delivery, const struct reply *reply, int socket,
                    enum sendfile_mode sendfile, struct contents_cache *contents, struct counters *counters);

/* Returns how many bytes of the reply may be sent before it is others' turn. */
off_t delivery_pass_bytes(const struct delivery *delivery);

/* Makes one pass: sends until the reply is out, the socket is full or it is others' turn. */
enum send_outcome delivery_pass(struct delivery *delivery, struct reply *reply, int socket,
                                struct counters *counters);

/* The same without waiting for a disk: returns SEND_HELD before what delivery_window() is not in memory. */
enum send_outcome delivery_pass_resident(struct delivery *delivery, struct reply *reply, int socket,
                                         struct counters *counters);

/* Where not all is in memory it is looked up, fetched and sent in windows of so many bytes. Returns where
 * that ends which is sent next. */
#define WINDOW_BYTES (128 << 10)
off_t delivery_window(const struct reply *reply);

/* Says whether what is left of the reply is in memory of this process: no file is to be read. */
bool delivery_is_in_memory(const struct delivery *delivery, const struct reply *reply);

/* Gives back the file and its contents. */
void delivery_end(struct delivery *delivery);

#endif
