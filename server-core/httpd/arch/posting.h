/*
 * Who has a connection of the pipeline. It is in the hands of a stage, or in exactly one queue, or in the
 * kernel's interest set alone. One word, which Read Poll and the connection's reader change, says whether it
 * is the last of these, and keeps what Read Poll has reported meanwhile.
 *
 * THE HAZARD. Read Poll hears of an event first and posts it a moment later. In between the reader may close
 * the connection, so what is posted is about one that has ended, and puts its structure into the queue of the
 * reader. Meanwhile the structure may be another connection's, which a writer has, perhaps: it must not be
 * taken for what the writer has brought back. So who opens a connection in a structure that is in the queue
 * counts it as late, and so many items that name it are nobody's: the queue keeps its order.
 * tests/httpd/test_posting.c tries all interleavings.
 */
#ifndef TRIMTAB_HTTPD_ARCH_POSTING_H
#define TRIMTAB_HTTPD_ARCH_POSTING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Zeroed: there is no connection. It stays when the structure is used again. */
struct posting {
    _Atomic uint32_t word;
    unsigned late; /* items in the reader's queue that are about connections before; the reader's alone */
};

/* Read Poll: notes what was reported (flags of io/events.h). Returns whether the connection is to be put into
 * the queue of its reader; if not, whoever has it looks at the flags before it lets go. */
bool posting_report(struct posting *posting, uint32_t flags);

/* The reader: has opened a connection, or closed it. */
void posting_open(struct posting *posting);
void posting_close(struct posting *posting);

/* The reader: has taken the connection out of its queue. Returns false if that was about one that has ended;
 * `is_closed`: the structure is nobody's. */
bool posting_take(struct posting *posting, bool is_closed);

/* The reader: takes a connection that is in the interest set alone. Returns false if it is not. */
bool posting_seize(struct posting *posting);

/* The reader: leaves the connection to the interest set. Returns false if something has been reported
 * meanwhile, which *flags is then; the reader has it still. */
bool posting_let_go(struct posting *posting, uint32_t *flags);

#endif
