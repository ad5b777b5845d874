"""This machine: who it is, its topology, how its CPUs are divided, and the lock that keeps others off it."""
