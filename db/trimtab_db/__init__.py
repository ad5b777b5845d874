"""The database that holds every experiment: models, migrations and the repository that reads and writes them."""
