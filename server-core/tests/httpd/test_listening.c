/*
 * All interleavings of a few workers that share a listener: whenever a client waits that somebody could take,
 * somebody is awake, or about to be, who knows of it.
 *
 * The workers decide by listening.c, one step at a time; between any two steps of one the others may take
 * theirs, clients may come and go, and connections may become idle long enough to give way, or busy again.
 * The kernel is modelled as epoll does it (an arrival walks along those that watch, in the order in which
 * they came, tells each, and stops at the first one that sleeps), and as a poll request of io_uring does it
 * (it stops at the first one, asleep or not, which then watches no more until it waits again).
 */
#include "httpd/arch/listening.h"
#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>

#define WORKERS_MAX 3
#define TABLE_BITS  23

enum at { WAITING_FOR_EVENTS, ACCEPTING, WORKING, DECIDING };

struct model_worker {
    struct listening listening;
    enum at at;
    unsigned open;        /* connections */
    unsigned called_next; /* whom it calls next, while it passes a client on */
    bool told;            /* the kernel has its listener among what is ready */
    bool called;          /* its wake-up is readable */
    bool ready;           /* the last wait reported the listener, */
    bool was_called;      /* the wake-up, */
    bool closes;          /* and the end of a connection */
    bool idle;            /* it has a connection that has been idle for long enough */
    bool possible;        /* that is what it last saw */
};

struct model {
    struct model_worker workers[WORKERS_MAX];
    unsigned char order[WORKERS_MAX]; /* who watches the listener, in the order in which they came */
    unsigned watching;
    unsigned queue;
};

/* What is tried. */
struct setting {
    unsigned workers;
    unsigned places; /* of each */
    unsigned queue;  /* that many clients wait at most */
    bool one_shot;   /* io_uring */
    bool nobody_is_idle;
    bool nobody_passes_on, called_for_nothing; /* as mutants */
};

static const struct setting *setting;
static bool fault;
static uint64_t *seen;
static struct model *stack;
static size_t stack_length, stack_capacity, state_count;

/* --- which states have been seen --- */

static void put(uint64_t *key, uint64_t value, unsigned bits)
{
    *key = *key << bits | value;
}

/* Packs a state into 63 bits, so that no key is 0. */
static uint64_t key_of(const struct model *model)
{
    uint64_t key = 1;

    for (unsigned i = 0; i < setting->workers; i++) {
        const struct model_worker *worker = &model->workers[i];

        put(&key, worker->at, 2);
        assert_true(worker->open < 4);
        put(&key, worker->open, 2);
        put(&key, worker->called_next, 2);
        put(&key, worker->listening.announced, 1);
        put(&key, worker->listening.in_set, 1);
        put(&key, worker->listening.anew, 1);
        put(&key, worker->listening.look, 1);
        put(&key, worker->listening.pass_on, 1);
        put(&key, worker->told, 1);
        put(&key, worker->called, 1);
        put(&key, worker->ready, 1);
        put(&key, worker->was_called, 1);
        put(&key, worker->closes, 1);
        put(&key, worker->idle, 1);
        put(&key, worker->possible, 1);
    }
    assert_true(model->queue < 4);
    put(&key, model->queue, 2);
    for (unsigned i = 0; i < model->watching; i++)
        put(&key, model->order[i] + 1U, 2);
    put(&key, 0, 2 * (setting->workers - model->watching));
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

/* --- the kernel --- */

static bool is_asleep(const struct model_worker *worker)
{
    return worker->at == WAITING_FOR_EVENTS && !worker->told && !worker->called;
}

static void watch(struct model *model, unsigned who)
{
    model->order[model->watching++] = (unsigned char)who;
    model->workers[who].told = model->queue > 0;
}

static void unwatch(struct model *model, unsigned who)
{
    unsigned left = 0;

    for (unsigned i = 0; i < model->watching; i++) {
        if (model->order[i] != who)
            model->order[left++] = model->order[i];
    }
    model->watching = left;
    model->workers[who].told = false;
}

static void arrive(struct model *model)
{
    model->queue++;
    for (unsigned i = 0; i < model->watching; i++) {
        const unsigned who = model->order[i];
        struct model_worker *worker = &model->workers[who];
        const bool sleeps = is_asleep(worker);

        if (setting->one_shot)
            unwatch(model, who);
        worker->told = true;
        if (setting->one_shot || sleeps)
            return;
    }
}

/* --- a worker --- */

static bool is_full(const struct model_worker *worker)
{
    return worker->open >= setting->places;
}

static bool anybody_has_a_place(const struct model *model)
{
    unsigned open = 0;

    for (unsigned i = 0; i < setting->workers; i++)
        open += model->workers[i].open;
    return open < setting->workers * setting->places;
}

/* As event_loop.c and recycle.c have it. */
static bool may_accept(const struct model *model, struct model_worker *worker)
{
    if (!is_full(worker))
        return true;
    if (anybody_has_a_place(model))
        worker->possible = false;
    else if (!worker->possible)
        worker->possible = worker->idle;
    return worker->possible;
}

/* What a wait reports. A level that is one no more is forgotten. */
static void harvest(struct model_worker *worker, const struct model *model, bool closes)
{
    worker->ready = worker->told && model->queue > 0;
    worker->told = worker->ready && !setting->one_shot;
    worker->was_called = worker->called;
    worker->called = false;
    worker->closes = closes;
    worker->at = ACCEPTING;
}

static void accept_one(struct model *model, struct model_worker *worker)
{
    if (model->queue == 0)
        return;
    model->queue--;
    if (!is_full(worker) || !worker->idle)
        worker->open++;
    else
        worker->idle = false; /* one for the other */
    worker->possible = worker->possible && worker->idle;
}

static void take_step(struct model *model, unsigned who)
{
    struct model_worker *worker = &model->workers[who];
    const enum listening_step step = worker->called_next > 0
                                         ? LISTENING_PASS_ON /* it has called some, but not all */
                                         : listening_next(&worker->listening, may_accept(model, worker));
    bool result = false;

    switch (step) {
    case LISTENING_STAYS:
        worker->at = WAITING_FOR_EVENTS;
        if (setting->one_shot && worker->listening.in_set && !worker->told) { /* what was told is no more */
            unwatch(model, who);
            watch(model, who);
        }
        return;
    case LISTENING_ADD:
        if (!setting->one_shot) /* that is told to the kernel by the next wait */
            watch(model, who);
        result = true;
        break;
    case LISTENING_REMOVE:
        unwatch(model, who);
        break;
    case LISTENING_LOOK:
        result = model->queue > 0 && !setting->nobody_passes_on;
        break;
    case LISTENING_PASS_ON:
        if (worker->called_next < setting->workers) {
            struct model_worker *other = &model->workers[worker->called_next++];

            other->called = other->called || (other != worker && other->listening.announced);
            return;
        }
        worker->called_next = 0;
        break;
    case LISTENING_ANNOUNCE:
    case LISTENING_RETRACT:
        break;
    }
    listening_done(&worker->listening, step, result);
}

/* Visits what may come next of what one worker does, or has happen to it. */
static void go_on(const struct model *before, unsigned who)
{
    struct model next = *before;
    struct model_worker *worker = &next.workers[who];

    switch (worker->at) {
    case WAITING_FOR_EVENTS:
        if (worker->told || worker->called) {
            harvest(worker, before, false);
            visit(&next);
        }
        if (worker->open > 0) {
            next = *before;
            harvest(worker, before, true);
            visit(&next);
        }
        if (is_full(worker) && !worker->listening.in_set) { /* looks from time to time */
            next = *before;
            harvest(worker, before, false);
            visit(&next);
        }
        break;
    case ACCEPTING:
        if (is_full(worker))
            worker->possible = worker->idle;
        if (worker->ready && may_accept(&next, worker)) {
            accept_one(&next, worker);
            visit(&next); /* and perhaps more */
        }
        worker->ready = false;
        worker->at = WORKING;
        visit(&next);
        break;
    case WORKING:
        worker->open -= worker->closes;
        worker->closes = false;
        worker->listening.anew =
            worker->listening.in_set && worker->was_called && !setting->called_for_nothing;
        worker->was_called = false;
        worker->at = DECIDING;
        visit(&next);
        worker->listening.anew = worker->listening.in_set; /* it goes to the end of the line */
        visit(&next);
        break;
    case DECIDING:
        take_step(&next, who);
        visit(&next);
        break;
    }
    /* Who was to give way may have asked meanwhile; then there is one connection too many, but not two. */
    if (!setting->nobody_is_idle && before->workers[who].open > 0 &&
        before->workers[who].open <= setting->places) {
        next = *before;
        worker->idle = !worker->idle;
        visit(&next);
    }
}

/* --- what must hold --- */

/* Says whether a client waits and all sleep, although one has a place; or all are full, but one of those that
 * wait to be told has a connection that would give way. (Who does not listen looks again soon.) */
static bool is_forgotten(const struct model *model)
{
    bool one_could = false;

    if (model->queue == 0)
        return false;
    for (unsigned i = 0; i < setting->workers; i++) {
        const struct model_worker *worker = &model->workers[i];

        if (!is_asleep(worker))
            return false;
        one_could = one_could || !is_full(worker) ||
                    (!anybody_has_a_place(model) && worker->idle && worker->listening.in_set);
    }
    return one_could;
}

static void explore(const struct setting *tried)
{
    struct model model = {0};

    setting = tried;
    fault = false;
    state_count = stack_length = 0;
    memset(seen, 0, sizeof(*seen) << TABLE_BITS);
    for (unsigned i = 0; i < setting->workers; i++)
        model.workers[i].at = DECIDING;
    visit(&model);
    while (stack_length > 0 && !fault) {
        model = stack[--stack_length];
        fault = is_forgotten(&model);
        for (unsigned i = 0; i < setting->workers; i++)
            go_on(&model, i);
        if (model.queue < setting->queue) {
            arrive(&model);
            visit(&model);
        }
    }
}

static void test_no_client_is_forgotten_whatever_the_interleaving(void **state)
{
    static const struct setting TRIED[] = {
        {.workers = 1, .places = 2, .queue = 3},
        {.workers = 2, .places = 1, .queue = 2},
        {.workers = 2, .places = 1, .queue = 2, .one_shot = true},
        {.workers = 3, .places = 1, .queue = 1, .nobody_is_idle = true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(TRIED) / sizeof(*TRIED); i++) {
        explore(&TRIED[i]);
        print_message("# setting %zu: %zu states\n", i, state_count);
        assert_false(fault);
    }
}

/* The model is worth something only if it finds what is wrong. */
static void test_model_finds_who_swallows_a_client(void **state)
{
    static const struct setting MUTANTS[] = {
        {.workers = 2, .places = 1, .queue = 2, .nobody_passes_on = true},
        {.workers = 2, .places = 1, .queue = 2, .nobody_passes_on = true, .one_shot = true},
        {.workers = 2, .places = 1, .queue = 2, .called_for_nothing = true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(MUTANTS) / sizeof(*MUTANTS); i++) {
        explore(&MUTANTS[i]);
        assert_true(fault);
    }
}

static int set_up(void **state)
{
    (void)state;
    seen = malloc(sizeof(*seen) << TABLE_BITS);
    return seen ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    free(seen);
    free(stack);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_client_is_forgotten_whatever_the_interleaving),
        cmocka_unit_test(test_model_finds_who_swallows_a_client),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
