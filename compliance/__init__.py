"""The law, the judgments, the records.

The path of a reading, as prose. A control manhole holds instruments; a gateway speaks Modbus for
them. ``ingest`` reads their registers, decodes them by a register map and spools the result:
a *reading*, with its unit, its quality and the words as they came. The spool is copied into the
database (``records``). The evaluation loop (``jobs``) takes what is new, folds it through the pure
functions of ``judging`` by the rules in force (``rules``) and gets *exceedances*: measured facts
outside a limit, each with the evidence a stranger needs to reach it again. An exceedance of an
enforceable rule becomes a *detection*, to decide; a person with authority opens a *violation* from
it (``enforcing``). Laboratory results enter by ``sampling`` and meet the same judgments. At the end
of a quarter the strengths and the metered water become a bill (``billing``), each line with its
working. Nothing here reads a clock or a file but ``records`` and ``jobs``.
"""
