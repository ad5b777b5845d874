/*
 * MT, multi-threaded: one process with a kernel thread for each connection, all threads sharing one cache.
 *
 * `thread_pool` says whether `workers` threads are there from the beginning (`fixed`) or are started when a
 * connection was taken and no thread is free for the next (`on-demand`); then a thread that has had nothing
 * to do for keepalive_timeout ends, unless it is the last free one.
 *
 * The main thread serves nobody. It starts the threads, hands the master's wake-up on to each of them, and
 * ends the process when all have ended. Thread i takes connections while i is less than max_connections.
 */
#include "httpd/arch/architectures.h"
#include "httpd/arch/blocking_loop.h"
#include "httpd/connection/worker.h"
#include "httpd/log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define STACK_BYTES (512 * 1024) /* reserved; what a thread never uses is never allocated */

static const enum knob_id UNDERSTOOD[] = {
    KNOB_SENDFILE,      KNOB_MAX_CONNECTIONS, KNOB_WORKERS,           KNOB_THREAD_POOL,     KNOB_AFFINITY,
    KNOB_CACHE_ENTRIES, KNOB_CACHE_LOCK,      KNOB_KEEPALIVE_TIMEOUT, KNOB_REQUEST_TIMEOUT, KNOB_COUNT,
};

struct pool;

struct thread {
    struct pool *pool;
    struct worker *worker; /* made once; a thread that is started again goes on with it */
    bool running;
    bool free; /* it has no connection, and does not end */
};

struct pool {
    struct worker *process;
    bool on_demand;
    pthread_mutex_t lock; /* for what follows */
    pthread_cond_t ended;
    unsigned size, running; /* threads */
    struct thread *threads;
};

static void lay_out(const struct config *config, struct layout *layout)
{
    const int64_t connections = config_integer(config, KNOB_MAX_CONNECTIONS);

    layout->processes = layout->descriptor_tables = layout->listener_sets = 1;
    if (connections < layout->serving)
        layout->serving = (unsigned)connections;
}

static struct row_description describe_row(const struct config *config, unsigned row)
{
    (void)config;
    return (struct row_description){.role = "worker", .process = 0, .cpu_position = row};
}

static void provide(struct pool *pool);

static void taken(void *user)
{
    struct thread *thread = user;

    pthread_mutex_lock(&thread->pool->lock);
    thread->free = false;
    provide(thread->pool);
    pthread_mutex_unlock(&thread->pool->lock);
}

static void free_again(void *user)
{
    struct thread *thread = user;

    pthread_mutex_lock(&thread->pool->lock);
    thread->free = true;
    pthread_mutex_unlock(&thread->pool->lock);
}

/* Returns how many threads may have a connection, from the first on. */
static unsigned admitted(const struct pool *pool)
{
    const int64_t connections = worker_connections_in_all(pool->process);

    return connections < pool->size ? (unsigned)connections : pool->size;
}

/* Says whether a thread other than this one (NULL: any) can take the next connection; called with the lock.
 */
static bool another_is_free(const struct pool *pool, const struct thread *thread)
{
    for (unsigned i = 0; i < admitted(pool); i++) {
        if (pool->threads[i].free && &pool->threads[i] != thread)
            return true;
    }
    return false;
}

static bool may_end(void *user)
{
    struct thread *thread = user;
    struct pool *pool = thread->pool;
    bool ends;

    pthread_mutex_lock(&pool->lock);
    ends = pool->on_demand && thread != &pool->threads[0] && another_is_free(pool, thread);
    thread->free = !ends;
    pthread_mutex_unlock(&pool->lock);
    return ends;
}

static void *thread_main(void *user)
{
    struct thread *thread = user;
    struct pool *pool = thread->pool;
    const struct blocking_pool callbacks = {thread, taken, free_again, may_end};

    worker_pin(thread->worker);
    if (blocking_loop_run(thread->worker, &callbacks) != EXIT_SUCCESS)
        _exit(EXIT_RUNTIME); /* the master starts the process anew */
    pthread_mutex_lock(&pool->lock);
    thread->running = thread->free = false;
    pool->running--;
    if (!thread->worker->shutting_down)
        provide(pool); /* the last free one took a connection while this one ended */
    pthread_cond_signal(&pool->ended);
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static bool make_worker(struct thread *thread, unsigned row)
{
    thread->worker = worker_new(thread->pool->process, row);
    if (!thread->worker)
        return false;
    thread->worker->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (thread->worker->wake_fd >= 0)
        return true;
    free(thread->worker);
    thread->worker = NULL;
    return false;
}

/* Starts the first of `count` threads that is not running, if there is one; called with the lock. Without it
 * the others go on. */
static void start_thread(struct pool *pool, unsigned count)
{
    pthread_attr_t attributes;
    struct thread *thread = pool->threads;
    pthread_t id;

    while (thread < pool->threads + count && thread->running)
        thread++;
    if (thread == pool->threads + count)
        return;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    thread->pool = pool;
    if ((!thread->worker && !make_worker(thread, (unsigned)(thread - pool->threads))) ||
        (errno = pthread_create(&id, &attributes, thread_main, thread)) != 0) {
        log_errno("cannot start thread %u", (unsigned)(thread - pool->threads));
    } else {
        thread->running = thread->free = true;
        pool->running++;
    }
    pthread_attr_destroy(&attributes);
}

/* Sees to it that a thread is free for the next connection, if there may be one; called with the lock. */
static void provide(struct pool *pool)
{
    if (pool->running < pool->size && !another_is_free(pool, NULL))
        start_thread(pool, admitted(pool));
}

static void wake_threads(struct pool *pool)
{
    const uint64_t one = 1;

    pthread_mutex_lock(&pool->lock);
    for (unsigned i = 0; i < pool->size; i++) {
        /* EAGAIN means that a wake-up is pending already. */
        if (pool->threads[i].running && write(pool->threads[i].worker->wake_fd, &one, sizeof(one)) < 0 &&
            errno != EAGAIN)
            log_errno("cannot wake thread %u", i);
    }
    if (!atomic_load(&pool->process->settings->shutting_down))
        provide(pool); /* other threads may be admitted now */
    pthread_mutex_unlock(&pool->lock);
}

/* Hands wake-ups on until the threads are to end. */
static void attend(struct pool *pool)
{
    struct pollfd wake_up = {.fd = pool->process->wake_fd, .events = POLLIN};
    uint64_t drained;

    while (!atomic_load(&pool->process->settings->shutting_down)) {
        if (poll(&wake_up, 1, -1) < 0 && errno != EINTR)
            log_errno("cannot wait for the wake-up");
        if (read(wake_up.fd, &drained, sizeof(drained)) == sizeof(drained))
            wake_threads(pool);
    }
}

static int run(struct worker *process)
{
    const struct config *config = process->config;
    static struct pool pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};
    bool started;

    pool.process = process;
    pool.size = (unsigned)config_integer(config, KNOB_WORKERS);
    pool.on_demand = config_integer(config, KNOB_THREAD_POOL) == THREAD_POOL_ON_DEMAND;
    pool.threads = calloc(pool.size, sizeof(*pool.threads));
    process->table = file_table_create_shared(
        config->root, (size_t)config_integer(config, KNOB_CACHE_ENTRIES), config_cache_bytes(config),
        (enum cache_lock)config_integer(config, KNOB_CACHE_LOCK), pool.size);
    if (!pool.threads || !process->table) {
        log_errno("cannot make the cache of the root %s", config_text(config, KNOB_ROOT));
        return EXIT_RUNTIME;
    }
    pthread_mutex_lock(&pool.lock);
    for (unsigned i = 0; i < (pool.on_demand ? 1 : pool.size); i++)
        start_thread(&pool, pool.size);
    started = pool.running > 0;
    pthread_mutex_unlock(&pool.lock);
    if (!started)
        return EXIT_RUNTIME;
    attend(&pool);
    wake_threads(&pool);
    pthread_mutex_lock(&pool.lock);
    while (pool.running > 0)
        pthread_cond_wait(&pool.ended, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
    file_table_destroy(process->table);
    return EXIT_SUCCESS;
}

const struct architecture architecture_mt = {
    .name = "mt",
    .help = "a kernel thread for each connection, in one process",
    .knobs = UNDERSTOOD,
    .can_be_copied = true,
    .workers_default = 64,
    .lay_out = lay_out,
    .describe_row = describe_row,
    .driver = &driver_blocking_loop,
    .run = run,
};
