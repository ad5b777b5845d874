/*
 * See table_lock.h.
 *
 * A word is 0 when it is free, otherwise the number of its holder plus one; the highest bit says that others
 * may sleep until it is free (Drepper, "Futexes Are Tricky", mutex 2).
 */
#include "httpd/cache/table_lock.h"

#include "httpd/counters/scoreboard.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLEEPERS UINT32_C(0x80000000)

struct word {
    _Alignas(CACHE_LINE_BYTES) _Atomic uint32_t value;
};

struct table_lock {
    enum cache_lock kind;
    unsigned word_count;
    struct word words[];
};

static unsigned word_count(enum cache_lock kind, unsigned holders)
{
    return kind == CACHE_LOCK_MUTEX ? 1 : holders;
}

size_t table_lock_bytes(enum cache_lock kind, unsigned holders)
{
    return sizeof(struct table_lock) + word_count(kind, holders) * sizeof(struct word);
}

struct table_lock *table_lock_init(void *memory, enum cache_lock kind, unsigned holders)
{
    struct table_lock *lock = memory;

    lock->kind = kind;
    lock->word_count = word_count(kind, holders);
    for (unsigned i = 0; i < lock->word_count; i++)
        atomic_init(&lock->words[i].value, 0);
    return lock;
}

/* Returns whether it had to wait. */
static bool take(struct word *word, unsigned holder)
{
    uint32_t value = 0;

    if (atomic_compare_exchange_strong(&word->value, &value, holder + 1))
        return false;
    for (;;) {
        /* Who has waited cannot know whether others still do, so it says that they may. */
        if (value == 0) {
            if (atomic_compare_exchange_strong(&word->value, &value, (holder + 1) | SLEEPERS))
                return true;
            continue;
        }
        if (!(value & SLEEPERS)) {
            if (!atomic_compare_exchange_strong(&word->value, &value, value | SLEEPERS))
                continue;
            value |= SLEEPERS;
        }
        syscall(SYS_futex, &word->value, FUTEX_WAIT, value, NULL, NULL, 0);
        value = atomic_load(&word->value);
    }
}

static void give(struct word *word)
{
    if (atomic_exchange(&word->value, 0) & SLEEPERS)
        syscall(SYS_futex, &word->value, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static struct word *own_word(struct table_lock *lock, unsigned holder)
{
    return &lock->words[lock->word_count == 1 ? 0 : holder];
}

bool table_lock_read(struct table_lock *lock, unsigned holder)
{
    return take(own_word(lock, holder), holder);
}

void table_unlock_read(struct table_lock *lock, unsigned holder)
{
    give(own_word(lock, holder));
}

bool table_lock_write(struct table_lock *lock, unsigned holder)
{
    bool waited = false;

    for (unsigned i = 0; i < lock->word_count; i++)
        waited |= take(&lock->words[i], holder);
    return waited;
}

void table_unlock_write(struct table_lock *lock, unsigned holder)
{
    (void)holder;
    for (unsigned i = 0; i < lock->word_count; i++)
        give(&lock->words[i]);
}

bool table_lock_inherit(struct table_lock *lock, unsigned holder)
{
    unsigned held = 0;

    for (unsigned i = 0; i < lock->word_count; i++)
        held += (atomic_load(&lock->words[i].value) & ~SLEEPERS) == holder + 1;
    for (unsigned i = 0; i < lock->word_count; i++) {
        struct word *word = &lock->words[i];

        if (held < lock->word_count && (atomic_load(&word->value) & ~SLEEPERS) == holder + 1)
            give(word);
        /* The dead one may have been woken and not have come to take the word: let all others look again. */
        syscall(SYS_futex, &word->value, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
    return held == lock->word_count;
}
