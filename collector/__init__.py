"""Receives spans, understands them as calls, watches and reports."""
