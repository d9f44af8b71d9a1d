"""Runs models in ONNX format on this machine."""
