"""Samples fold into the categories of the thesis."""

import pytest
from trimtab_tuner.cpu_profile import CATEGORIES, category_of, fold

KERNEL = "[kernel.kallsyms]"


@pytest.mark.parametrize(
    ("symbol", "binary", "category"),
    [
        ("tcp_sendmsg_locked", KERNEL, "networking"),
        ("__netif_receive_skb_core", KERNEL, "networking"),
        ("nf_hook_slow", "[nf_tables]", "networking"),
        ("ep_poll", KERNEL, "event mechanism"),
        ("__x64_sys_epoll_wait", KERNEL, "event mechanism"),
        ("_copy_to_iter", KERNEL, "data copying"),
        ("rep_movs_alternative", KERNEL, "data copying"),
        ("__schedule", KERNEL, "scheduling"),
        ("try_to_wake_up", KERNEL, "scheduling"),
        ("filemap_get_pages", KERNEL, "file system"),
        ("vfs_fstat", KERNEL, "file system"),
        ("kmem_cache_alloc", KERNEL, "memory"),
        ("mystery_function", KERNEL, "other kernel"),
        ("event_loop_run", "/opt/trimtab/trimtab-httpd", "events"),
        ("http_parse", "/opt/trimtab/trimtab-httpd", "application"),
        ("pthread_mutex_lock", "/usr/lib/libc.so.6", "threads"),
        ("__memmove_avx512_unaligned_erms", "/usr/lib/libc.so.6", "libc"),
        ("clock_gettime", "[vdso]", "libc"),
    ],
)
def test_a_function_belongs_to_the_category_of_its_subsystem(symbol, binary, category):
    """Kernel and modules by name, user code by binary and name."""
    assert category_of(symbol, binary) == category
    assert category in CATEGORIES


def test_shares_are_percent_largest_first():
    """Nothing sampled is an empty profile."""
    samples = [("tcp_ack", KERNEL)] * 3 + [("main", "/bin/app")]
    assert list(fold(samples).items()) == [("networking", 75.0), ("application", 25.0)]
    assert fold([]) == {}
