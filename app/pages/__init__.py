"""Pages for people, on the same queries as the API."""
