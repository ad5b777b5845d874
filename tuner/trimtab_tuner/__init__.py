"""Search, scoring, verification and statistics: what Trimtab decides, without touching the machine."""
