"""The worker: turns stored spans into calls and rollups."""
