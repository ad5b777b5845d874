"""What the command line shows: progress while a run goes on, tables from the database."""
