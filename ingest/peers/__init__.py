"""Other people's pollers, each run as a script of its own beside ours in ``pretreat bench poll``."""
