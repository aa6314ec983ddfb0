"""The shell: read, decide, write, in one transaction each."""
