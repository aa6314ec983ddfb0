"""The only SQL. Functions: a connection and values in, values or frames out. Rows never leave."""
