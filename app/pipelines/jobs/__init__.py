"""Lists the kinds of background jobs, runs the jobs of all kinds, and lists, follows and cancels those of a user.

Entry: `background.run_forever` for processes, `followed_jobs` for requests. No other folder of `pipelines` imports it.
"""
