"""A historian export: read strictly, then examined by the rulebooks. Behind `pretreat check`."""
