"""Runs models in ONNX format on the local CPU.

Entry: `minilm` and `model_folder`. Only `runtime` imports it.
"""
