/*
 * Runs the protocol (http/protocol.h) over bytes as a connection does, but for sockets and files: what comes
 * is given to it in pieces, the files that it may serve are a short list, and what it replies is written down
 * as the client would see it.
 */
#ifndef TRIMTAB_TEST_CONVERSATION_H
#define TRIMTAB_TEST_CONVERSATION_H

#include "httpd/http/protocol.h"

#include <stdbool.h>
#include <stddef.h>

/* Zeroed but for `step`: nothing has been said. */
struct conversation {
    size_t step; /* bytes that are sent at once */
    struct protocol protocol;
    bool blocked; /* the client takes no replies: the first is kept back until conversation_go_on() */
    bool sending; /* a reply is kept back */
    bool over;    /* the server ends the connection */
    char *said;
    size_t length; /* of that */
    char text[REPLY_TEXT_MAX];
    struct http_date date, expires;
};

/* The server's files: /letters of 26 bytes, /long.html of 300, both last changed at 784111777; and a
 * directory /directory. Byte i of a file is the letter i modulo 26. */

/* Gives the server bytes of a client, and has it say what it has to say. */
void conversation_hear(struct conversation *conversation, const char *bytes, size_t length);

/* Has the client take the reply that was kept back, and the server go on with the next request. */
void conversation_go_on(struct conversation *conversation);

/* Frees what it owns. */
void conversation_end(struct conversation *conversation);

#endif
