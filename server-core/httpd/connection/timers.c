/*
 * See timers.h.
 */
#include "httpd/connection/timers.h"

#include "common/clock.h"

#include <stdbool.h>
#include <stddef.h>

#define SLOT(tick) ((tick) % TIMER_SLOTS)

static uint32_t tick_of(uint64_t ns)
{
    return (uint32_t)(ns >> TIMER_TICK_SHIFT);
}

/* Ticks are compared modulo 2^32, so that it does not matter when they wrap round. */
static bool is_before(uint32_t tick, uint32_t other)
{
    return (int32_t)(tick - other) < 0;
}

void timers_init(struct timers *timers, uint64_t now_ns)
{
    *timers = (struct timers){.now = tick_of(now_ns)};
    for (size_t i = 0; i < TIMER_SLOTS; i++)
        timers->slots[i].next = timers->slots[i].previous = &timers->slots[i];
}

void timers_cancel(struct timer *timer)
{
    if (!timer->next)
        return;
    timer->previous->next = timer->next;
    timer->next->previous = timer->previous;
    timer->next = timer->previous = NULL;
}

/* Puts a timer that is in no slot where its deadline belongs, or as far ahead as the wheel reaches. */
static void schedule(struct timers *timers, struct timer *timer)
{
    struct timer *head;
    const uint32_t first = timers->now + 1, last = timers->now + TIMER_SLOTS - 1;
    uint32_t tick = timer->deadline;

    if (is_before(tick, first))
        tick = first;
    else if (is_before(last, tick))
        tick = last;
    timer->scheduled = tick;
    head = &timers->slots[SLOT(tick)];
    timer->previous = head->previous;
    timer->next = head;
    timer->previous->next = head->previous = timer;
    timers->occupied[SLOT(tick) / 64] |= UINT64_C(1) << SLOT(tick) % 64;
}

void timers_set(struct timers *timers, struct timer *timer, uint64_t deadline_ns)
{
    timer->deadline = tick_of(deadline_ns) + 1; /* the deadline lies within the tick before */
    if (timer->next && !is_before(timer->deadline, timer->scheduled))
        return;
    timers_cancel(timer);
    schedule(timers, timer);
}

/* Returns how many ticks after `now` the next occupied slot comes, at most TIMER_SLOTS; 0 if there is none.
 */
static uint32_t next_occupied(const struct timers *timers)
{
    const uint32_t first = SLOT(timers->now + 1);

    for (uint32_t word = 0; word <= TIMER_SLOTS / 64; word++) {
        const uint32_t index = (first / 64 + word) % (TIMER_SLOTS / 64);
        uint64_t bits = timers->occupied[index];

        if (word == 0)
            bits &= ~UINT64_C(0) << first % 64;
        if (bits) {
            const uint32_t slot = index * 64 + (uint32_t)__builtin_ctzll(bits);

            return SLOT(slot - first + TIMER_SLOTS) + 1;
        }
    }
    return 0;
}

int timers_wait_ms(const struct timers *timers, uint64_t now_ns)
{
    const uint32_t ahead = next_occupied(timers);
    const uint64_t passed_ns = now_ns - ((uint64_t)(now_ns >> TIMER_TICK_SHIFT) << TIMER_TICK_SHIFT);
    const int32_t ticks = (int32_t)(timers->now + ahead - tick_of(now_ns));

    if (ahead == 0)
        return -1;
    if (ticks <= 0)
        return 0;
    return (int)((((uint64_t)ticks << TIMER_TICK_SHIFT) - passed_ns) / NS_PER_MS) + 1;
}

void timers_expire(struct timers *timers, uint64_t now_ns, void (*expired)(void *user, struct timer *timer),
                   void *user)
{
    const uint32_t now = tick_of(now_ns);

    while (is_before(timers->now, now)) {
        const uint32_t ahead = next_occupied(timers);
        struct timer *head;

        if (ahead == 0 || is_before(now, timers->now + ahead)) {
            timers->now = now;
            return;
        }
        timers->now += ahead;
        head = &timers->slots[SLOT(timers->now)];
        timers->occupied[SLOT(timers->now) / 64] &= ~(UINT64_C(1) << SLOT(timers->now) % 64);
        while (head->next != head) {
            struct timer *timer = head->next;

            timers_cancel(timer);
            if (is_before(timers->now, timer->deadline))
                schedule(timers, timer);
            else
                expired(user, timer);
        }
    }
}

void timers_for_each(struct timers *timers, void (*visit)(void *user, struct timer *timer), void *user)
{
    for (size_t i = 0; i < TIMER_SLOTS; i++) {
        struct timer *head = &timers->slots[i];

        for (struct timer *timer = head->next, *next; timer != head; timer = next) {
            next = timer->next;
            visit(user, timer);
        }
    }
}
