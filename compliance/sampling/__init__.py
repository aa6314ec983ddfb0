"""Laboratory samples and results: their meaning, before anything is judged."""
