"""Law as data: dated, cited, quoted numbers, and the loader that refuses."""
