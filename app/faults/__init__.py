"""The fault run: real processes, really killed; what was accepted must be stored, each once."""
