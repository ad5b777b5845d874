"""The privileged helper: the one small process with root's rights, and how the daemon talks to it."""
