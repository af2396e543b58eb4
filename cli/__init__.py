"""The command toolvitals; the only reader of settings and of the clock at start."""
