"""Which workload a run gets, what it comes to, and how one is learnt from access logs."""
