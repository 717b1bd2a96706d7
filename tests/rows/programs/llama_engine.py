"""The same in vLLM's engine: llama_engine.py [epsilon|base|position]

epsilon, base: the engine is given another configuration; position: the rotary embedding counts one too far in decoding.
"""

import os
import sys

os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
from vllm import LLM, SamplingParams
from vllm.model_executor.layers.rotary_embedding.base import RotaryEmbedding

FAULTS = {"epsilon": {"rms_norm_eps": 1e-3}, "base": {"rope_parameters": {"rope_type": "default", "rope_theta": 5000.0}}}
FUNCTIONS = ("forward_native", "forward_cpu", "forward_cuda")


def count_too_far(embed):
    return lambda self, positions, query, key=None: embed(self, positions + 1 if positions.numel() == 1 else positions, query, key)


if __name__ == "__main__":
    fault = sys.argv[1] if len(sys.argv) > 1 else ""
    if fault == "position":
        for name in FUNCTIONS:
            setattr(RotaryEmbedding, name, count_too_far(getattr(RotaryEmbedding, name)))
    engine = LLM("tiny", skip_tokenizer_init=True, dtype="float32", max_model_len=64, enforce_eager=True, seed=0, hf_overrides=FAULTS.get(fault, {}))
    sampling = SamplingParams(temperature=0, max_tokens=6, detokenize=False, ignore_eos=True)
    print(list(engine.generate({"prompt_token_ids": list(range(3, 11))}, sampling)[0].outputs[0].token_ids))
