"""The language that all parts share."""
