"""Silent suppression: failures that a tool reports as empty successes; each file is one kind of sign, all pure (docs/suppression.md)."""
