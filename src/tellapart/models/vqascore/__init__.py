"""VQAScore: how likely is a Yes?"""
