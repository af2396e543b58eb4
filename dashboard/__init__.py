"""The web pages and their JSON twins; reads the database, never collector."""
