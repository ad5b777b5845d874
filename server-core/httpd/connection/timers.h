/*
 * Timeouts of connections, made for tens of thousands of them of which hardly any ever expires.
 *
 * DESIGN. A wheel of slots, one per tick of some 67 ms. Putting a deadline off, which happens with every
 * request, only stores the new deadline: the timer stays in its slot, and when that slot's turn comes it
 * moves on to where its deadline now is. Only bringing a deadline forward moves a timer at once. A deadline
 * beyond the horizon of the wheel (34 s) is met after some turns. No timer expires early; it may do so one
 * tick late.
 */
#ifndef TRIMTAB_HTTPD_CONNECTION_TIMERS_H
#define TRIMTAB_HTTPD_CONNECTION_TIMERS_H

#include <stdint.h>

#define TIMER_TICK_SHIFT 26 /* a tick is 2^26 ns */
#define TIMER_SLOTS      512

/* Part of the structure that has the deadline. Zeroed: not running. */
struct timer {
    struct timer *next, *previous;
    uint32_t deadline;  /* in ticks */
    uint32_t scheduled; /* when the slot that it is in has its turn */
};

struct timers {
    struct timer slots[TIMER_SLOTS];     /* heads of circular lists */
    uint64_t occupied[TIMER_SLOTS / 64]; /* bit per slot: may hold timers */
    uint32_t now;                        /* the last tick whose slot had its turn */
};

void timers_init(struct timers *timers, uint64_t now_ns);

/* Sets the deadline of a timer, running or not, to `deadline_ns` (not before the present). */
void timers_set(struct timers *timers, struct timer *timer, uint64_t deadline_ns);

void timers_cancel(struct timer *timer);

/* Calls `expired` for each timer whose deadline has passed; it is then not running any more. The function may
 * set and cancel any timers. */
void timers_expire(struct timers *timers, uint64_t now_ns, void (*expired)(void *user, struct timer *timer),
                   void *user);

/* Returns in how many milliseconds timers_expire() will have something to do; -1 if no timer is running. */
int timers_wait_ms(const struct timers *timers, uint64_t now_ns);

/* Calls `visit` for each running timer; the function may cancel the timer that it is given. */
void timers_for_each(struct timers *timers, void (*visit)(void *user, struct timer *timer), void *user);

#endif
