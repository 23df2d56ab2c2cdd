"""transformers' own generate with a static cache, which compiles the decoding step with CUDA graphs."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)


@torch.inference_mode()
def main():
    config = LlamaConfig(
        vocab_size=256,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=None,
    )
    model = LlamaForCausalLM(config).cuda().eval()
    prompt = torch.randint(3, 256, (2, 7), device="cuda")
    eager = model.generate(prompt, max_new_tokens=12, do_sample=False)
    for _ in range(3):
        out = model.generate(prompt, max_new_tokens=12, do_sample=False, cache_implementation="static")
    print("same", torch.equal(eager, out), out.shape)


if __name__ == "__main__":
    main()
