"""Search, scoring, verification and statistics: the part of Trimtab that decides, without touching the machine."""
