"""Schema migrations, applied in order by database.py."""
