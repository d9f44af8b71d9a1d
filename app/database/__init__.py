"""Opens transactions on Postgres that know their user, and runs checked SQL."""
