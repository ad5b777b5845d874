"""What one host needs to carry jobs out: CPUs, link, memory group, files, servers, generator, counters."""
