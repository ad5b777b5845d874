"""Where a server's CPU time goes: samples folded into the categories of the seeds' thesis (section 3.12).

A sample belongs to the function it was taken in, not to its callers: copying is copying, whoever asked for
it. Kernel functions are told apart by their names. Those follow the subsystems closely enough for shares, not
for single percents: what no rule knows is `other kernel`, which stays small when the rules are right.
"""

import re
from collections import Counter
from collections.abc import Iterable

CATEGORIES = (
    "networking",
    "event mechanism",
    "data copying",
    "scheduling",
    "file system",
    "memory",
    "other kernel",
    "threads",
    "events",
    "application",
    "libc",
)

# With what the names of each category's functions begin, after underscores and the `x64_sys_` of system
# calls. In order: the first that fits decides.
_KERNEL_RULES = {
    "event mechanism": "ep_ epoll eventpoll do_epoll poll_ do_poll do_select core_sys_select select io_",
    "data copying": "rep_movs copy_ copyin copyout memcpy memmove skb_copy csum_and_copy clear_user",
    "networking": "tcp_ ip_ ip6_ ipv4 inet sock netif net_ skb alloc_skb kfree_skb consume_skb dev_ sk_ nf_ "
    "napi loopback validate_xmit process_backlog release_sock lock_sock csum_ virtnet veth qdisc eth_ fib_ "
    "dst_ bpf_ accept sendto sendmsg recvfrom recvmsg move_addr bh_ local_bh do_accept nft_ sendfile "
    "do_sendfile splice do_splice direct_splice tso gro_ gso bbr_ cubic fq_ hash_conntrack security_socket "
    "siphash handle_softirqs",
    "scheduling": "schedule sched pick_ enqueue_ dequeue_ update_curr try_to_wake ttwu wake_up finish_task "
    "select_task futex context_switch switch_ load_balance update_load set_next put_prev prepare_to_wait "
    "hrtimer timer tick_ do_idle autoremove rwsem mutex down_ up_ osq_ native_queued_spin",
    "file system": "vfs_ ext4 xfs btrfs filemap path_ lookup link_path dput dget d_ fget fput filp "
    "do_sys_open openat generic_file shmem inode iget iput file_ stat getname touch_atime atime close_fd "
    "folio_ fdget current_time page_cache pagecache jbd2 blk_ bio_ submit_bio read pread write rw_verify "
    "ksys",
    "memory": "alloc_pages get_page put_page page_ free_ kmem_ kmalloc kfree slab mem_cgroup obj_cgroup "
    "clear_page handle_mm do_user_addr exc_page_fault mmap munmap tlb pte_ rmqueue refill memset zap_ unmap "
    "vma_ mas_",
}
_RULES = tuple(
    (name, re.compile(f"_*(?:x64_sys_|ia32_sys_|se_sys_)?(?:{'|'.join(prefixes.split())})"))
    for name, prefixes in _KERNEL_RULES.items()
)
_THREADS = re.compile(r"pthread|futex|sem_|lll_|__clone|start_thread")
_EVENTS = re.compile(r"epoll|poll|select|event|io_uring|timers?_")
_LIBRARY = re.compile(r"libc[.-]|ld-linux|libm[.-]|\[vdso\]")


def category_of(symbol: str, binary: str) -> str:
    """The category of a function; the kernel and its modules are binaries in square brackets."""
    if binary.startswith("[") and binary != "[vdso]":
        return next((name for name, rule in _RULES if rule.match(symbol)), "other kernel")
    if _THREADS.search(symbol) or "libpthread" in binary:
        return "threads"
    if _LIBRARY.search(binary):
        return "libc"
    return "events" if _EVENTS.search(symbol) else "application"


def fold(samples: Iterable[tuple[str, str]]) -> dict[str, float]:
    """Percent of the samples (symbol, binary) in each category that has any, largest first."""
    counts = Counter(category_of(symbol, binary) for symbol, binary in samples)
    total = counts.total()
    return {name: round(100 * count / total, 2) for name, count in counts.most_common()}
