/*
 * See turns.h.
 */
#include "httpd/connection/turns.h"

#include <stddef.h>

void turns_append(struct turns *turns, struct turn *turn)
{
    if (turn->waits)
        return;
    *turn = (struct turn){.before = turns->last, .waits = true};
    *(turns->last ? &turns->last->after : &turns->first) = turn;
    turns->last = turn;
}

void turns_remove(struct turns *turns, struct turn *turn)
{
    if (!turn->waits)
        return;
    turn->waits = false;
    *(turn->before ? &turn->before->after : &turns->first) = turn->after;
    *(turn->after ? &turn->after->before : &turns->last) = turn->before;
}

struct turn *turns_take(struct turns *turns)
{
    struct turn *turn = turns->first;

    if (turn)
        turns_remove(turns, turn);
    return turn;
}
