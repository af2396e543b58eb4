"""Tests of the channels and of the outbox."""
