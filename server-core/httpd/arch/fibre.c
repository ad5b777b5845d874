/*
 * See fibre.h.
 *
 * On x86-64 the switch is a few instructions: push the six registers that the ABI has callees preserve
 * (System V ABI, AMD64 supplement, figure 3.4), exchange stack pointers, pop, return. Elsewhere it is
 * swapcontext(3), which does the same with a system call for the signal mask.
 *
 * AddressSanitizer and ThreadSanitizer have to be told of each switch (sanitizer/common_interface_defs.h,
 * sanitizer/tsan_interface.h); without that they would take the new stack for an overflow of the old one.
 */
#include "httpd/arch/fibre.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef __x86_64__
#include <ucontext.h>
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

struct fibre {
#ifndef __x86_64__
    ucontext_t context;
#else
    void *stack_pointer; /* while it does not run */
#endif
    void (*entry)(void *argument);
    void *argument;
    unsigned char *mapping; /* the guard page, then the stack; NULL: a kernel thread's own */
    size_t mapping_bytes;
#ifdef __SANITIZE_ADDRESS__
    void *fake_stack;
    const void *stack_bottom;
    size_t stack_bytes;
#endif
#ifdef __SANITIZE_THREAD__
    void *tsan;
#endif
};

#ifdef __SANITIZE_ADDRESS__
/* Who switched to the fibre that runs: a kernel thread's own stack is known only once it has been left. */
static _Thread_local struct fibre *last_left;
#endif

/* These two are not inlined: a fibre may go on in another kernel thread, and the compiler would find the
 * thread-local variable of the first one again. */

/* To be called right before a switch. `ends`: the calling fibre is left for good. */
__attribute__((noinline)) static void announce_switch(struct fibre *from, struct fibre *to, int ends)
{
    (void)from, (void)to, (void)ends;
#ifdef __SANITIZE_ADDRESS__
    last_left = from;
    __sanitizer_start_switch_fiber(ends ? NULL : &from->fake_stack, to->stack_bottom, to->stack_bytes);
#endif
#ifdef __SANITIZE_THREAD__
    __tsan_switch_to_fiber(to->tsan, 0);
#endif
}

/* To be called right after a switch, by the fibre that was switched to. */
__attribute__((noinline)) static void confirm_switch(struct fibre *fibre)
{
    (void)fibre;
#ifdef __SANITIZE_ADDRESS__
    const void *bottom;
    size_t bytes;

    __sanitizer_finish_switch_fiber(fibre->fake_stack, &bottom, &bytes);
    if (last_left && !last_left->mapping) {
        last_left->stack_bottom = bottom;
        last_left->stack_bytes = bytes;
    }
#endif
}

static void run(struct fibre *fibre)
{
    confirm_switch(fibre);
    fibre->entry(fibre->argument);
    abort(); /* it should have called fibre_end() */
}

#ifndef __x86_64__

static void run_split(unsigned high, unsigned low)
{
    run((struct fibre *)((uintptr_t)high << 32 | low));
}

static void prepare(struct fibre *fibre, unsigned char *stack, size_t bytes)
{
    getcontext(&fibre->context);
    fibre->context.uc_stack.ss_sp = stack;
    fibre->context.uc_stack.ss_size = bytes;
    makecontext(&fibre->context, (void (*)(void))run_split, 2, (unsigned)((uint64_t)(uintptr_t)fibre >> 32),
                (unsigned)(uintptr_t)fibre);
}

static void exchange(struct fibre *from, struct fibre *to)
{
    swapcontext(&from->context, &to->context);
}

#else

/* Saves the registers on the present stack, stores the stack pointer in *save and takes up `load`. */
void trimtab_fibre_exchange(void **save, void *load);
void trimtab_fibre_start(void); /* calls r13(r12) */

__asm__(".text\n"
        ".p2align 4\n"
        ".globl trimtab_fibre_exchange\n"
        ".hidden trimtab_fibre_exchange\n"
        ".type trimtab_fibre_exchange, @function\n"
        "trimtab_fibre_exchange:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size trimtab_fibre_exchange, .-trimtab_fibre_exchange\n"
        ".globl trimtab_fibre_start\n"
        ".hidden trimtab_fibre_start\n"
        ".type trimtab_fibre_start, @function\n"
        "trimtab_fibre_start:\n"
        "    movq %r12, %rdi\n"
        "    call *%r13\n"
        "    ud2\n"
        ".size trimtab_fibre_start, .-trimtab_fibre_start\n");

/* The registers as trimtab_fibre_exchange() takes them from a stack, lowest address first. */
struct saved_registers {
    uint64_t r15, r14, r13, r12, rbx, rbp, return_address;
    uint64_t unused[2]; /* so that trimtab_fibre_start() finds the stack pointer a multiple of 16 */
};

static void prepare(struct fibre *fibre, unsigned char *stack, size_t bytes)
{
    struct saved_registers *registers = (struct saved_registers *)(stack + bytes) - 1;

    *registers = (struct saved_registers){
        .r12 = (uint64_t)(uintptr_t)fibre,
        .r13 = (uint64_t)(uintptr_t)run,
        .return_address = (uint64_t)(uintptr_t)trimtab_fibre_start,
    };
    fibre->stack_pointer = registers;
}

static void exchange(struct fibre *from, struct fibre *to)
{
    trimtab_fibre_exchange(&from->stack_pointer, to->stack_pointer);
}

#endif

struct fibre *fibre_create(void (*entry)(void *argument), void *argument)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct fibre *fibre = calloc(1, sizeof(*fibre));
    unsigned char *mapping;

    if (!fibre)
        return NULL;
    fibre->mapping_bytes = FIBRE_STACK_BYTES + page;
    mapping = mmap(NULL, fibre->mapping_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (mapping == MAP_FAILED) {
        free(fibre);
        return NULL;
    }
    fibre->mapping = mapping;
    if (mprotect(mapping, page, PROT_NONE) != 0) {
        munmap(mapping, fibre->mapping_bytes);
        free(fibre);
        return NULL;
    }
    fibre->entry = entry;
    fibre->argument = argument;
#ifdef __SANITIZE_ADDRESS__
    fibre->stack_bottom = mapping + page;
    fibre->stack_bytes = FIBRE_STACK_BYTES;
#endif
#ifdef __SANITIZE_THREAD__
    fibre->tsan = __tsan_create_fiber(0);
#endif
    prepare(fibre, mapping + page, FIBRE_STACK_BYTES);
    return fibre;
}

struct fibre *fibre_adopt_thread(void)
{
    struct fibre *fibre = calloc(1, sizeof(*fibre));

#ifdef __SANITIZE_THREAD__
    if (fibre)
        fibre->tsan = __tsan_get_current_fiber();
#endif
    return fibre;
}

void fibre_destroy(struct fibre *fibre)
{
    if (!fibre)
        return;
    if (fibre->mapping) {
#ifdef __SANITIZE_THREAD__
        __tsan_destroy_fiber(fibre->tsan);
#endif
        munmap(fibre->mapping, fibre->mapping_bytes);
    }
    free(fibre);
}

void fibre_switch(struct fibre *from, struct fibre *to)
{
    announce_switch(from, to, 0);
    exchange(from, to);
    confirm_switch(from);
}

_Noreturn void fibre_end(struct fibre *from, struct fibre *to)
{
    announce_switch(from, to, 1);
    exchange(from, to);
    abort(); /* nobody may switch to it any more */
}
