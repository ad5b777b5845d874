/*
 * See posting.h.
 */
#include "httpd/arch/posting.h"

/* In the hands of a stage, or in a queue. The bits below are flags of io/events.h. */
#define BUSY UINT32_C(8)

bool posting_report(struct posting *posting, uint32_t flags)
{
    return !(atomic_fetch_or(&posting->word, BUSY | flags) & BUSY);
}

void posting_open(struct posting *posting)
{
    posting->late += (atomic_exchange(&posting->word, BUSY) & BUSY) != 0;
}

void posting_close(struct posting *posting)
{
    atomic_store(&posting->word, 0);
}

bool posting_take(struct posting *posting, bool is_closed)
{
    if (posting->late > 0) {
        posting->late--;
        return false;
    }
    if (is_closed)
        posting_close(posting);
    return !is_closed;
}

bool posting_seize(struct posting *posting)
{
    uint32_t idle = 0;

    return atomic_compare_exchange_strong(&posting->word, &idle, BUSY);
}

bool posting_let_go(struct posting *posting, uint32_t *flags)
{
    uint32_t expected = BUSY;

    if (atomic_compare_exchange_strong(&posting->word, &expected, 0))
        return true;
    *flags = atomic_fetch_and(&posting->word, BUSY) & ~BUSY;
    return false;
}
