"""Telling people and programs of alerts: one file a channel, and the outbox that they are sent from."""
