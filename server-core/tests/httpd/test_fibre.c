/*
 * Unit tests of arch/fibre.c.
 */
#include "httpd/arch/fibre.h"
#include "tests/unit.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __SANITIZE_THREAD__
#define MANY 100 /* the sanitizer keeps megabytes for each */
#else
#define MANY 10000
#endif

struct counting {
    struct fibre *home, *self;
    int steps, value;
};

/* Counts on its own stack, returning home after each step. */
static void count(void *argument)
{
    struct counting *counting = argument;
    volatile int kept = 0;

    for (int i = 0; i < counting->steps; i++) {
        kept += 1;
        counting->value = kept;
        fibre_switch(counting->self, counting->home);
    }
    fibre_end(counting->self, counting->home);
}

static void a_fibre_goes_on_where_it_was_left(void **state)
{
    struct counting first = {.steps = 3}, second = {.steps = 2};

    (void)state;
    first.home = second.home = fibre_adopt_thread();
    first.self = fibre_create(count, &first);
    second.self = fibre_create(count, &second);
    for (int i = 1; i <= 2; i++) {
        fibre_switch(first.home, first.self);
        fibre_switch(first.home, second.self);
        assert_int_equal(first.value, i);
        assert_int_equal(second.value, i);
    }
    fibre_switch(second.home, second.self); /* ends */
    fibre_destroy(second.self);
    fibre_switch(first.home, first.self);
    assert_int_equal(first.value, 3);
    fibre_switch(first.home, first.self); /* ends */
    fibre_destroy(first.self);
    fibre_destroy(first.home);
}

static void many_fibres_exist_at_once(void **state)
{
    static struct counting countings[MANY];
    struct fibre *home = fibre_adopt_thread();

    (void)state;
    for (int i = 0; i < MANY; i++) {
        countings[i] = (struct counting){.home = home, .steps = 1};
        countings[i].self = fibre_create(count, &countings[i]);
        assert_non_null(countings[i].self);
        fibre_switch(home, countings[i].self);
    }
    for (int i = 0; i < MANY; i++) {
        fibre_switch(home, countings[i].self);
        fibre_destroy(countings[i].self);
        assert_int_equal(countings[i].value, 1);
    }
    fibre_destroy(home);
}

/* Uses most of its stack, as the longest replies do. */
static void use_stack(void *argument)
{
    struct counting *counting = argument;
    volatile char large[FIBRE_STACK_BYTES / 2];

    memset((char *)large, 7, sizeof(large));
    fibre_switch(counting->self, counting->home);
    counting->value = large[0] + large[sizeof(large) - 1];
    fibre_end(counting->self, counting->home);
}

static void what_lies_on_a_stack_survives_switches(void **state)
{
    struct counting counting = {.home = fibre_adopt_thread()};

    (void)state;
    counting.self = fibre_create(use_stack, &counting);
    fibre_switch(counting.home, counting.self);
    fibre_switch(counting.home, counting.self);
    assert_int_equal(counting.value, 14);
    fibre_destroy(counting.self);
    fibre_destroy(counting.home);
}

static void *run_elsewhere(void *argument)
{
    struct counting *counting = argument;
    struct fibre *thread = fibre_adopt_thread();

    counting->home = thread;
    fibre_switch(thread, counting->self);
    fibre_destroy(thread);
    return NULL;
}

static void a_fibre_can_go_on_in_another_kernel_thread(void **state)
{
    struct counting counting = {.steps = 3};
    pthread_t thread;

    (void)state;
    counting.self = fibre_create(count, &counting);
    for (int i = 1; i <= 4; i++) {
        assert_int_equal(pthread_create(&thread, NULL, run_elsewhere, &counting), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(counting.value, i < 4 ? i : 3);
    }
    fibre_destroy(counting.self);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static int overflow(int depth)
{
    volatile char frame[1024];

    frame[0] = (char)depth;
    return depth > 1 << 20 ? 0 : overflow(depth + 1) + frame[0];
}

static void overflow_stack(void *argument)
{
    struct counting *counting = argument;

    counting->value = overflow(0);
    fibre_end(counting->self, counting->home);
}

static void an_overflow_meets_the_guard_page(void **state)
{
    int status;
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        struct counting counting = {.home = fibre_adopt_thread()};

        signal(SIGSEGV, SIG_DFL); /* cmocka catches it */
        counting.self = fibre_create(overflow_stack, &counting);
        fibre_switch(counting.home, counting.self);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fibre_goes_on_where_it_was_left),
        cmocka_unit_test(many_fibres_exist_at_once),
        cmocka_unit_test(what_lies_on_a_stack_survives_switches),
        cmocka_unit_test(a_fibre_can_go_on_in_another_kernel_thread),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(an_overflow_meets_the_guard_page),
#endif
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
