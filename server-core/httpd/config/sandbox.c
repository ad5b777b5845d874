/*
 * See sandbox.h.
 *
 * The calls are those of all architectures: they are made of the same parts. Only rings of io_uring are for
 * those alone that work with one: operations in a ring are not looked at by this, so who has one can make and
 * reach sockets by it.
 */
#include "httpd/config/sandbox.h"

#include "httpd/log.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#endif

/* Sanitizers have calls of their own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#undef MACHINE
#endif

#ifdef MACHINE

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

static const unsigned ALLOWED[] = {
    /* files */
    SYS_openat,
    SYS_openat2,
    SYS_readlinkat,
    SYS_newfstatat,
    SYS_fstat,
    SYS_read,
    SYS_lseek,
    SYS_pread64,
    SYS_preadv2,
    SYS_cachestat,
    SYS_mincore,
    SYS_close,
    SYS_fcntl,
    SYS_sendfile,
    /* clients, and other processes of the server */
    SYS_accept4,
    SYS_recvfrom,
    SYS_recvmsg,
    SYS_sendto,
    SYS_sendmsg,
    SYS_write,
    SYS_writev,
    SYS_shutdown,
    SYS_getsockopt,
    SYS_setsockopt,
    SYS_getpeername,
    SYS_getsockname,
    /* waiting */
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_pwait,
    SYS_ppoll,
    SYS_pselect6,
    SYS_eventfd2,
    SYS_futex,
    SYS_nanosleep,
    SYS_clock_nanosleep,
    SYS_clock_gettime,
    SYS_restart_syscall,
#ifdef __x86_64__
    SYS_epoll_wait,
    SYS_poll,
    SYS_select,
    SYS_time,
#endif
    /* memory */
    SYS_brk,
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    /* threads and the process itself */
    SYS_clone,
    SYS_clone3,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_sched_yield,
    SYS_sched_setaffinity,
    SYS_sched_getaffinity,
    SYS_prctl,
    SYS_getpid,
    SYS_gettid,
    SYS_getppid,
    SYS_tgkill,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_getrandom,
    SYS_sysinfo,
    SYS_prlimit64,
    SYS_exit,
    SYS_exit_group,
};

static const unsigned OF_RINGS[] = {SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register};

#define COUNT(calls) (sizeof(calls) / sizeof(*(calls)))

/* Appends to `filter` that `count` calls are allowed. */
static unsigned short allow(struct sock_filter *filter, unsigned short length, const unsigned *calls,
                            size_t count)
{
    for (size_t i = 0; i < count; i++) {
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], 0, 1);
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    return length;
}

bool sandbox_enter(bool with_rings)
{
    const struct sock_filter refuse = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    struct sock_filter filter[6 + 2 * (COUNT(ALLOWED) + COUNT(OF_RINGS))];
    struct sock_fprog program = {.filter = filter};
    unsigned short length = 0;

    filter[length++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0);
    filter[length++] = refuse;
    filter[length++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    length = allow(filter, length, ALLOWED, COUNT(ALLOWED));
    if (with_rings)
        length = allow(filter, length, OF_RINGS, COUNT(OF_RINGS));
    filter[length++] = refuse;
    program.len = length;
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_LOG, &program) == 0 ||
        errno == ENOSYS || errno == EINVAL)
        return true;
    log_errno("cannot give up system calls");
    return false;
}

#else

bool sandbox_enter(bool with_rings)
{
    (void)with_rings;
    return true;
}

#endif
