"""Hydra configurations of the metric.

Add ``pkg://bertscore_tm.configs`` to the search path, then choose ``metric=minilm``.
"""
