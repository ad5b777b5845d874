/*
 * Reads what a MariaDB server says on a connection: its greeting, whether it admits the client, and results
 * of statements in the text protocol. (mariadb.com/kb/en/clientserver-protocol describes it.)
 *
 * DESIGN. The server talks in packets: three bytes of length, a number, and that much payload. What has to be
 * known of one stands at its beginning, so nothing else is kept, and packets may come in any pieces. Values
 * of rows are counted and not looked at.
 */
#ifndef TRIMTAB_LOADGEN_SQL_REPLY_H
#define TRIMTAB_LOADGEN_SQL_REPLY_H

#include <stddef.h>
#include <stdint.h>

#define SQL_HEADER_BYTES 4

/* Room for the header and what is looked at: a mark, two integers of up to nine bytes, and the flags. */
#define SQL_KEPT_BYTES (SQL_HEADER_BYTES + 1 + 9 + 9 + 2)

enum sql_phase { SQL_GREETING, SQL_ADMISSION, SQL_RESULT, SQL_COLUMNS, SQL_ROWS };

enum sql_event {
    SQL_NOTHING,   /* more is to come */
    SQL_GREETED,   /* the client's turn to log in */
    SQL_ADMITTED,  /* the client's turn to ask */
    SQL_DONE,      /* all results of the statement have come */
    SQL_REFUSED,   /* an error of the server, its number in `error`: it ends what was asked */
    SQL_MALFORMED, /* not the protocol, or a packet of 16 MB */
};

struct sql_reply {
    enum sql_phase phase;
    unsigned char kept[SQL_KEPT_BYTES]; /* the beginning of the present packet */
    uint32_t got;                       /* bytes of the present packet that have come */
    uint32_t columns_left;              /* descriptions still to come, while SQL_COLUMNS */
    unsigned error;                     /* the server's number of it, once SQL_REFUSED */
    /* Since sql_reply_forget: */
    uint64_t rows;      /* sent, found or changed by the statements */
    uint64_t row_bytes; /* payload of the rows sent */
    uint64_t bytes;     /* everything */
};

/* Has the counts begin anew, for the next request. */
void sql_reply_forget(struct sql_reply *reply);

/* Takes bytes of the `length` at `data` up to the end of the first packet that makes an *event, or all of
 * them. Returns how many. `reply` starts zeroed, before the server's greeting. */
size_t sql_reply_take(struct sql_reply *reply, const char *data, size_t length, enum sql_event *event);

#endif
