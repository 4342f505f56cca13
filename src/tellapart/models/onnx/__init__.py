"""Dual encoders in ONNX folders."""
