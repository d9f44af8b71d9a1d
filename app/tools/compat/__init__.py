"""Translates the contracts of other platforms to searches and reads, where the settings name them.

`dify` is the external knowledge API of Dify, `chatgpt` the pair of tools that connectors of ChatGPT ask for.
"""
