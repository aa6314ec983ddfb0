"""Other people's pollers, each a script of its own, beside ours in ``pretreat bench poll``."""
