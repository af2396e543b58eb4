"""Pure decisions: no clock, no network, no database, no randomness."""
