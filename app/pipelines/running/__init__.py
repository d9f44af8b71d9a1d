"""Gives every pipeline what it runs in: the opened services, a search's context, its deadline and its turn.

Entry: `services.Services`, which `runtime` opens. Every other folder of `pipelines` may import it.
"""
