"""A station without a machine: jobs are answered from a model of a server, with a clock of its own."""
