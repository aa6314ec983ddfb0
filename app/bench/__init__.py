"""What `pretreat bench` measures on a database of its own: `store, query, evaluate, live`.

Each figure stands beside a peer, or the plain limit, of the same run. All data come from a seeded
generator, so that two runs measure the same work.
"""

from __future__ import annotations
