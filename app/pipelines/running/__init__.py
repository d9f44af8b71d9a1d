"""Gives every pipeline what it runs in: the services, a search's context, deadline and turn, and a job's worker.

Entry: `services.Services`, which `runtime` opens. Every other folder of `pipelines` may import it.
"""
