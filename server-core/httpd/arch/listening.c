/*
 * See listening.h.
 */
#include "httpd/arch/listening.h"

enum listening_step listening_next(const struct listening *listening, bool may_accept)
{
    if (listening->in_set)
        return may_accept && !listening->anew ? LISTENING_STAYS : LISTENING_REMOVE;
    if (may_accept)
        return listening->announced ? LISTENING_ADD : LISTENING_ANNOUNCE;
    if (listening->announced)
        return LISTENING_RETRACT;
    if (listening->look)
        return LISTENING_LOOK;
    return listening->pass_on ? LISTENING_PASS_ON : LISTENING_STAYS;
}

void listening_done(struct listening *listening, enum listening_step step, bool result)
{
    switch (step) {
    case LISTENING_STAYS:
        return;
    case LISTENING_ANNOUNCE:
        listening->announced = true;
        return;
    case LISTENING_ADD:
        listening->in_set = result;
        listening->anew = false;
        listening->look = !result;
        listening->pass_on = false; /* we hear of it ourselves */
        return;
    case LISTENING_REMOVE:
        listening->in_set = false;
        listening->look = true;
        return;
    case LISTENING_RETRACT:
        listening->announced = false;
        return;
    case LISTENING_LOOK:
        listening->look = false;
        listening->pass_on = result;
        return;
    case LISTENING_PASS_ON:
        listening->pass_on = false;
        return;
    }
}
