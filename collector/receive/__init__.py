"""The OTLP edges: spans in, answers out only after the commit."""
