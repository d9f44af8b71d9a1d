"""Orders hits by the age of their documents, where the query or the request asks for it."""
