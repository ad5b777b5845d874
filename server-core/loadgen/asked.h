/*
 * A request that is asked, whatever carries it: how it is asked, what its reply counts as, and how long the
 * client pauses afterwards.
 */
#ifndef TRIMTAB_LOADGEN_ASKED_H
#define TRIMTAB_LOADGEN_ASKED_H

#include "loadgen/connections.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Draws in what way request number `request` of the plan is asked. */
struct asked asked_draw(struct connections *all, uint32_t request);

/* Has the kind of the request learn its conditional form from the head of a reply, if that is of use. */
void asked_learn(struct connections *all, uint32_t request, const struct reply_head *head);

/* Looks at bytes of the body that begin at `offset`, if this reply is verified. */
void asked_look(const struct connections *all, struct asked *asked, uint32_t request, unsigned status,
                uint64_t offset, const char *data, size_t length);

/* Counts the reply to a request that was meant for `intended_ns`, which has been read to its end, as good or
 * failed. Returns whether it is good. */
bool asked_account(struct connections *all, const struct asked *asked, uint32_t request, uint64_t intended_ns,
                   const struct reply_head *head);

/* Returns how long the client pauses after the reply to `request`, which is not the session's last one. The
 * closed loop does not pause. */
uint64_t asked_pause_ns(struct connections *all, uint32_t request);

#endif
