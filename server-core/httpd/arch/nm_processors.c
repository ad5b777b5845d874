/*
 * See nm_processors.h.
 */
#include "httpd/arch/nm_processors.h"

#include "common/clock.h"
#include "httpd/arch/event_loop.h"
#include "httpd/log.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS            (1 * NS_PER_MS)
#define IDLE_TICKS_MAX     16  /* without a call under way; then the monitor sleeps until there is one */
#define KERNEL_THREADS_MAX 512 /* with so many a blocked one is waited for */

/* Which kernel thread calls. A user thread asks only while it cannot move to another. */
static _Thread_local struct kernel_thread *self;

__attribute__((noinline)) static struct kernel_thread *calling_thread(void)
{
    return self;
}

/* Waits until the calling kernel thread is given a processor. The lock is held. */
static void await_processor(struct kernel_thread *thread)
{
    while (!thread->processor && !thread->processors->stopping)
        pthread_cond_wait(&thread->given, &thread->processors->lock);
}

/* The lock is held. */
static void give(struct processor *processor, struct kernel_thread *thread)
{
    processor->runner = thread;
    thread->processor = processor;
    pthread_cond_signal(&thread->given);
}

/* Runs processors until all is over. It has switched to the event loop of one, and comes back here when that
 * has ended, or when a kernel thread that was blocked goes on with it. */
static void *run_processors(void *argument)
{
    struct kernel_thread *thread = argument;
    struct processors *processors = thread->processors;

    self = thread;
    thread->fibre = fibre_adopt_thread();
    if (!thread->fibre) {
        log_errno("no memory for a kernel thread");
        exit(EXIT_RUNTIME); /* the processor that it was made for would stand still */
    }
    pthread_mutex_lock(&processors->lock);
    for (;;) {
        struct processor *processor;

        await_processor(thread);
        processor = thread->processor;
        if (!processor)
            break;
        pthread_mutex_unlock(&processors->lock);
        worker_pin(processor->scheduler.worker);
        fibre_switch(thread->fibre, processor->loop);

        pthread_mutex_lock(&processors->lock);
        thread->processor = NULL;
        if (processor->ended) {
            processors->running--;
            eventfd_write(processors->ended_fd, 1);
        } else {
            struct kernel_thread *next = processor->returning;

            processor->returning = next->next;
            if (!processor->returning)
                processor->last_returning = &processor->returning;
            give(processor, next);
        }
        thread->next = processors->free;
        processors->free = thread;
    }
    pthread_mutex_unlock(&processors->lock);
    return NULL;
}

/* Makes a kernel thread. The lock is held. Returns NULL with errno set on failure. */
static struct kernel_thread *make_thread(struct processors *processors)
{
    struct kernel_thread *thread = calloc(1, sizeof(*thread));
    int error;

    if (!thread)
        return NULL;
    thread->processors = processors;
    pthread_cond_init(&thread->given, NULL);
    error = pthread_create(&thread->thread, NULL, run_processors, thread);
    if (error != 0) {
        free(thread);
        errno = error;
        return NULL;
    }
    thread->next_made = processors->made;
    processors->made = thread;
    processors->thread_count++;
    return thread;
}

/* The entry of a processor's fibre. */
static void run_loop(void *argument)
{
    struct processor *processor = argument;

    processor->exit_code = event_loop_run(processor->scheduler.worker);
    processor->ended = true;
    fibre_end(processor->loop, processor->runner->fibre);
}

bool processors_open(struct processors *processors, unsigned count, int ended_fd)
{
    *processors = (struct processors){
        .all = calloc(count, sizeof(*processors->all)), .count = count, .ended_fd = ended_fd};
    pthread_mutex_init(&processors->lock, NULL);
    sem_init(&processors->monitor_wake, 0, 0);
    for (unsigned i = 0; processors->all && i < count; i++) {
        struct processor *processor = &processors->all[i];

        processor->processors = processors;
        processor->last_returning = &processor->returning;
        processor->returning_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        processor->loop = fibre_create(run_loop, processor);
        if (processor->returning_fd < 0 || !processor->loop)
            return false;
    }
    return processors->all != NULL;
}

bool processor_start(struct processor *processor)
{
    struct processors *processors = processor->processors;
    struct kernel_thread *thread;

    pthread_mutex_lock(&processors->lock);
    thread = make_thread(processors);
    if (thread) {
        processors->running++;
        give(processor, thread);
    }
    pthread_mutex_unlock(&processors->lock);
    return thread != NULL;
}

unsigned processors_running(struct processors *processors)
{
    unsigned running;

    pthread_mutex_lock(&processors->lock);
    running = processors->running;
    pthread_mutex_unlock(&processors->lock);
    return running;
}

/* --- calls that may block --- */

uint64_t processor_enter(struct processor *processor)
{
    struct processors *processors = processor->processors;
    const uint64_t call = atomic_load(&processor->call) + 3; /* the number before was even */

    atomic_store(&processor->call, call);
    if (atomic_load(&processors->monitor_asleep) && atomic_exchange(&processors->monitor_asleep, false))
        sem_post(&processors->monitor_wake);
    return call;
}

void processor_leave(struct processor *processor, uint64_t call)
{
    struct processors *processors = processor->processors;
    struct kernel_thread *thread = calling_thread();
    uint64_t under_way = call;

    if (atomic_compare_exchange_strong(&processor->call, &under_way, call - 1))
        return;
    pthread_mutex_lock(&processors->lock);
    thread->processor = NULL; /* another runs it now */
    thread->next = NULL;
    *processor->last_returning = thread;
    processor->last_returning = &thread->next;
    eventfd_write(processor->returning_fd, 1);
    await_processor(thread);
    pthread_mutex_unlock(&processors->lock);
}

void processor_let_return(struct processor *processor)
{
    struct processors *processors = processor->processors;
    bool any = true;
    eventfd_t value;

    if (eventfd_read(processor->returning_fd, &value) != 0 && errno != EAGAIN)
        log_errno("cannot read the wake-up");
    while (any) {
        pthread_mutex_lock(&processors->lock);
        any = processor->returning != NULL;
        pthread_mutex_unlock(&processors->lock);
        /* The kernel thread that runs this hands the processor over (run_processors()). We go on here, in
         * another one, when the user thread that was blocked sleeps. */
        if (any)
            fibre_switch(processor->loop, processor->runner->fibre);
    }
}

/* --- the monitor --- */

/* Takes a processor from a kernel thread that is blocked in call `call`, and gives it to another. */
static void take(struct processor *processor, uint64_t call)
{
    struct processors *processors = processor->processors;
    struct kernel_thread *thread;

    pthread_mutex_lock(&processors->lock);
    thread = processors->free;
    if (!thread && processors->thread_count < KERNEL_THREADS_MAX) {
        thread = make_thread(processors);
        if (!thread)
            log_errno("cannot start a kernel thread");
        else
            atomic_fetch_add_explicit(&processor->added, 1, memory_order_relaxed);
    } else if (thread) {
        processors->free = thread->next;
    }
    if (thread && atomic_compare_exchange_strong(&processor->call, &call, call - 1)) {
        give(processor, thread);
    } else if (thread) {
        thread->next = processors->free;
        processors->free = thread;
    }
    pthread_mutex_unlock(&processors->lock);
}

/* Looks at all processors. Returns whether a call is under way. */
static bool look(struct processors *processors)
{
    bool any = false;

    for (unsigned i = 0; i < processors->count; i++) {
        struct processor *processor = &processors->all[i];
        const uint64_t call = atomic_load(&processor->call);

        any = any || call & 1;
        if (call & 1 && call == processor->call_seen)
            take(processor, call);
        processor->call_seen = call;
    }
    return any;
}

static bool is_stopping(struct processors *processors)
{
    bool stopping;

    pthread_mutex_lock(&processors->lock);
    stopping = processors->stopping;
    pthread_mutex_unlock(&processors->lock);
    return stopping;
}

static void *monitor(void *argument)
{
    struct processors *processors = argument;
    const struct timespec tick = {.tv_nsec = (long)TICK_NS};
    unsigned idle_ticks = 0;

    while (!is_stopping(processors)) {
        if (look(processors)) {
            idle_ticks = 0;
        } else if (++idle_ticks > IDLE_TICKS_MAX) {
            atomic_store(&processors->monitor_asleep, true);
            /* A call that began before that was up has woken nobody. */
            if (!look(processors) && !is_stopping(processors))
                sem_wait(&processors->monitor_wake);
            atomic_store(&processors->monitor_asleep, false);
            idle_ticks = 0;
        }
        nanosleep(&tick, NULL);
    }
    return NULL;
}

bool processors_watch(struct processors *processors)
{
    errno = pthread_create(&processors->monitor, NULL, monitor, processors);
    return errno == 0;
}

int processors_close(struct processors *processors)
{
    int exit_code = EXIT_SUCCESS;

    pthread_mutex_lock(&processors->lock);
    processors->stopping = true;
    for (struct kernel_thread *thread = processors->made; thread; thread = thread->next_made)
        pthread_cond_signal(&thread->given);
    pthread_mutex_unlock(&processors->lock);
    sem_post(&processors->monitor_wake);
    pthread_join(processors->monitor, NULL);
    while (processors->made) {
        struct kernel_thread *thread = processors->made;

        processors->made = thread->next_made;
        pthread_join(thread->thread, NULL);
        pthread_cond_destroy(&thread->given);
        fibre_destroy(thread->fibre);
        free(thread);
    }
    for (unsigned i = 0; i < processors->count; i++) {
        struct processor *processor = &processors->all[i];

        if (processor->exit_code > exit_code)
            exit_code = processor->exit_code;
        user_threads_end(&processor->scheduler);
        fibre_destroy(processor->loop);
        close(processor->returning_fd);
    }
    return exit_code; /* workers and their connections end with the process */
}
