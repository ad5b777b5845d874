"""The thesis' comparison of architectures, planned again for this machine and judged beside its own."""
