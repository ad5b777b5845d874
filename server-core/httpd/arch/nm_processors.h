/*
 * Processors: what runs the user threads of nm. A processor is a scheduler (an event loop with its user
 * threads) which exactly one kernel thread runs at a time; a kernel thread that is blocked in the kernel
 * loses it to another.
 *
 * BLOCKING. Before a system call that may have to wait for a disk a user thread says processor_enter(),
 * afterwards processor_leave(). Usually that is all. A monitor looks once a millisecond; if it finds the same
 * call still under way it gives the processor to another kernel thread, a new one if none is free, which goes
 * on with the scheduler. When the call returns, its kernel thread asks for the processor and gets it at the
 * next turn of the event loop. So a user thread stays on one kernel thread for the length of a call, while
 * the scheduler moves.
 */
#ifndef TRIMTAB_HTTPD_ARCH_NM_PROCESSORS_H
#define TRIMTAB_HTTPD_ARCH_NM_PROCESSORS_H

#include "httpd/arch/user_threads.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct processors;

struct kernel_thread {
    struct processors *processors;
    pthread_t thread;
    struct fibre *fibre;         /* its own stack */
    struct processor *processor; /* that it is to run, or to go on with */
    pthread_cond_t given;        /* that has been set */
    struct kernel_thread *next;  /* of those that have none, or that want one back */
    struct kernel_thread *next_made;
};

struct processor {
    struct user_scheduler scheduler; /* first, so that a scheduler is a processor */
    struct processors *processors;
    struct fibre *loop;           /* of the event loop */
    struct kernel_thread *runner; /* who runs it */
    _Atomic uint64_t call;        /* twice the number of the last call, and 1 if it is under way */
    uint64_t call_seen;           /* by the monitor */
    _Atomic unsigned added;       /* kernel threads made because one was blocked, not counted yet */
    struct kernel_thread *returning, **last_returning; /* that want it back, in their order */
    int returning_fd;                                  /* eventfd: there are some */
    int exit_code;
    bool ended;
};

struct processors {
    struct processor *all;
    unsigned count;
    pthread_mutex_t lock; /* for what follows, and for who is given what */
    struct kernel_thread *free, *made;
    unsigned thread_count, running; /* kernel threads made; processors that have not ended */
    bool stopping;
    pthread_t monitor;
    _Atomic bool monitor_asleep;
    sem_t monitor_wake;
    int ended_fd; /* eventfd: written to when a processor has ended */
};

/* Makes `count` processors without workers. Returns false with errno set on failure. */
bool processors_open(struct processors *processors, unsigned count, int ended_fd);

/* Starts running the event loop of a processor whose scheduler has its worker. Returns false with errno set.
 */
bool processor_start(struct processor *processor);

/* Starts the monitor. Returns false with errno set. */
bool processors_watch(struct processors *processors);

/* How many have not ended. */
unsigned processors_running(struct processors *processors);

/* Ends all kernel threads; all processors have ended. Returns the worst of their exit codes. */
int processors_close(struct processors *processors);

/* Round a system call that may block. Between the two nothing of the processor may be touched. */
uint64_t processor_enter(struct processor *processor);
void processor_leave(struct processor *processor, uint64_t call);

/* For the event loop, when returning_fd is readable: lets those go on who want the processor back. */
void processor_let_return(struct processor *processor);

#endif
