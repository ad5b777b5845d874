/*
 * Fibres: contexts of execution with stacks of their own, switched at user level, on which the user threads
 * of knot and nm run.
 *
 * A switch saves the registers that a function call preserves, and nothing else: no system call, no signal
 * mask. Who is switched to, and when, is the scheduler's business (user_threads.h).
 *
 * STACKS are mapped, not allocated: a fibre that has never gone deep occupies the pages that it touched. Each
 * lies above a page without access, so that an overflow ends the process instead of another fibre's data.
 */
#ifndef TRIMTAB_HTTPD_ARCH_FIBRE_H
#define TRIMTAB_HTTPD_ARCH_FIBRE_H

#include <stddef.h>

/* Enough for the deepest reply with room to spare; sanitizers put red zones round every array. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FIBRE_STACK_BYTES (512 * 1024)
#else
#define FIBRE_STACK_BYTES (96 * 1024)
#endif

struct fibre;

/* Makes a fibre that will run entry(argument) when it is first switched to; `entry` must end with
 * fibre_end(). Returns NULL with errno set when there is no memory. */
struct fibre *fibre_create(void (*entry)(void *argument), void *argument);

/* The kernel thread that calls, as something to switch back to. Returns NULL with errno set when there is no
 * memory. */
struct fibre *fibre_adopt_thread(void);

/* Frees a fibre that does not run and will not be switched to again. */
void fibre_destroy(struct fibre *fibre);

/* Leaves the calling fibre `from` and goes on with `to`. Returns when somebody switches to `from`. */
void fibre_switch(struct fibre *from, struct fibre *to);

/* Leaves the calling fibre for good. `to` may destroy it. */
_Noreturn void fibre_end(struct fibre *from, struct fibre *to);

#endif
