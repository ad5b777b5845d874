"""Live tuning: the servers that run here, and sharing their connections with others."""
