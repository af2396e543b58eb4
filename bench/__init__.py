"""Measurements that anyone can run: make bench."""
