/*
 * All interleavings of Read Poll, a reader and a writer round one structure, which is a few connections one
 * after the other: nobody takes what another has, nothing that was reported is lost, and no connection stays
 * where nobody looks.
 *
 * The model knows who has the connection, and checks that posting.c comes to the same. Read Poll hears of an
 * event, posts it and fills the queue in three steps; between any two the others may take theirs.
 */
#include "httpd/arch/posting.h"
#include "httpd/io/events.h"
#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>

#define QUEUE_MAX  8
#define TABLE_BITS 20

enum holder { NOBODY, READER, WRITER, KERNEL, QUEUE };
enum item { NONE, REAL, STALE }; /* whether it says that its reader is to take the connection */

struct model {
    struct posting posting;
    enum holder holder;
    bool sending;           /* a reply, which the writer begins and the reader ends */
    bool came;              /* the item by which the reader gets it has been taken out of the queue */
    bool unseen;            /* something was reported that the reader has yet to look at */
    unsigned heard;         /* flags that Read Poll has got from the kernel and not posted yet */
    enum item posted;       /* that it has posted and not put into the queue yet */
    unsigned opens, events; /* that are still to come */
    unsigned length;
    enum item queue[QUEUE_MAX];
};

static bool late_are_not_counted; /* as a mutant */
static bool fault;
static uint64_t *seen;
static struct model *stack;
static size_t stack_length, stack_capacity, state_count;

static void expect(bool holds)
{
    fault |= !holds;
}

/* --- which states have been seen --- */

static void put(uint64_t *key, uint64_t value, unsigned bits)
{
    assert_true(value < UINT64_C(1) << bits);
    *key = *key << bits | value;
}

/* Packs a state; no key is 0. */
static uint64_t key_of(const struct model *model)
{
    uint64_t key = 1;

    put(&key, atomic_load(&model->posting.word), 4);
    put(&key, model->posting.late, 3);
    put(&key, model->holder, 3);
    put(&key, model->sending, 1);
    put(&key, model->came, 1);
    put(&key, model->unseen, 1);
    put(&key, model->heard, 3);
    put(&key, model->posted, 2);
    put(&key, model->opens, 3);
    put(&key, model->events, 3);
    put(&key, model->length, 4);
    for (unsigned i = 0; i < QUEUE_MAX; i++)
        put(&key, i < model->length ? model->queue[i] : NONE, 2);
    return key;
}

static void visit(const struct model *model)
{
    const uint64_t key = key_of(model);
    size_t place = (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - TABLE_BITS));

    while (seen[place] != 0) {
        if (seen[place] == key)
            return;
        place = (place + 1) & ((1U << TABLE_BITS) - 1);
    }
    seen[place] = key;
    assert_true(++state_count < (1U << TABLE_BITS) / 4 * 3);
    if (stack_length == stack_capacity) {
        stack_capacity = stack_capacity ? 2 * stack_capacity : 1024;
        stack = realloc(stack, stack_capacity * sizeof(*stack));
        assert_non_null(stack);
    }
    stack[stack_length++] = *model;
}

/* --- the steps --- */

static void append(struct model *model, enum item item)
{
    assert_true(model->length < QUEUE_MAX);
    model->queue[model->length++] = item;
}

/* Read Poll. */
static void report(struct model *model)
{
    const bool to_queue = posting_report(&model->posting, model->heard);

    model->heard = 0;
    model->unseen = model->holder != NOBODY;
    if (!to_queue)
        return;
    expect(model->holder == KERNEL || model->holder == NOBODY);
    model->posted = model->holder == KERNEL ? REAL : STALE;
    if (model->holder == KERNEL)
        model->holder = QUEUE;
}

/* The reader. */
static void take(struct model *model)
{
    model->came |= model->queue[0] == REAL;
    memmove(model->queue, model->queue + 1, --model->length * sizeof(model->queue[0]));
    if (!posting_take(&model->posting, model->holder == NOBODY))
        return;
    expect(model->holder == QUEUE && model->came);
    model->holder = READER;
    model->sending = model->came = false;
}

static void open_next(struct model *model)
{
    model->opens--;
    posting_open(&model->posting);
    if (late_are_not_counted)
        model->posting.late = 0;
    model->holder = READER;
    model->unseen = false;
}

static void close_it(struct model *model)
{
    posting_close(&model->posting);
    model->holder = NOBODY;
    model->unseen = false;
}

static void let_go(struct model *model)
{
    uint32_t flags = 0;

    if (posting_let_go(&model->posting, &flags)) {
        expect(!model->unseen);
        model->holder = KERNEL;
    } else {
        expect(flags != 0); /* or it would try for ever */
        model->unseen = false;
    }
}

static void seize(struct model *model)
{
    if (!posting_seize(&model->posting))
        return;
    expect(model->holder == KERNEL);
    model->holder = READER;
}

/* Visits what follows when one of them takes a step. */
static void go_on(const struct model *model)
{
    struct model next = *model;

#define STEP(condition, ...)                                                                                 \
    if (condition) {                                                                                         \
        next = *model;                                                                                       \
        __VA_ARGS__;                                                                                         \
        visit(&next);                                                                                        \
    }

    STEP(model->holder != NOBODY && !model->heard && !model->posted && model->events,
         next.heard = EVENT_READABLE, next.events--)
    STEP(model->holder != NOBODY && !model->heard && !model->posted && model->events,
         next.heard = EVENT_PEER_CLOSED, next.events--)
    STEP(model->heard, report(&next))
    STEP(model->posted, append(&next, next.posted), next.posted = NONE)

    STEP(model->holder == WRITER, append(&next, REAL), next.holder = QUEUE)

    STEP(model->length, take(&next))
    STEP(model->holder == NOBODY && model->opens, open_next(&next))
    STEP(model->holder == READER, close_it(&next))
    STEP(model->holder == READER, next.sending = true, next.holder = WRITER)
    STEP(model->holder == READER, let_go(&next))
    STEP(model->holder != NOBODY && model->holder != READER && !model->sending, seize(&next))
#undef STEP
}

/* Where nothing is under way any more, everything must be where somebody looks for it. */
static void check_rest(const struct model *model)
{
    if (model->heard || model->posted || model->length || model->holder == WRITER || model->holder == READER)
        return;
    expect(model->holder == KERNEL || model->holder == NOBODY);
    expect(!model->unseen && !model->sending && !model->came);
    expect(atomic_load(&model->posting.word) == 0 && model->posting.late == 0);
}

static bool any_interleaving_fails(void)
{
    const struct model first = {.opens = 5, .events = 7};

    fault = false;
    state_count = 0;
    seen = calloc(1U << TABLE_BITS, sizeof(*seen));
    assert_non_null(seen);
    visit(&first);
    while (stack_length > 0 && !fault) {
        const struct model model = stack[--stack_length];

        check_rest(&model);
        go_on(&model);
    }
    free(seen);
    free(stack);
    stack = NULL;
    stack_length = stack_capacity = 0;
    return fault;
}

static void test_nobody_takes_what_another_has_whatever_the_interleaving(void **state)
{
    (void)state;
    late_are_not_counted = false;
    assert_false(any_interleaving_fails());
    assert_true(state_count > 5000); /* the model has not stood still */
}

static void test_model_finds_the_fault_when_late_items_are_not_counted(void **state)
{
    (void)state;
    late_are_not_counted = true;
    assert_true(any_interleaving_fails());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_takes_what_another_has_whatever_the_interleaving),
        cmocka_unit_test(test_model_finds_the_fault_when_late_items_are_not_counted),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
