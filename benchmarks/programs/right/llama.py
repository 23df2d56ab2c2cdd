"""transformers' Llama with a static cache, decoded by hand with a graph."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM, StaticCache

torch.manual_seed(0)


@torch.inference_mode()
def main():
    config = LlamaConfig(
        vocab_size=256,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
    )
    model = LlamaForCausalLM(config).cuda().eval()
    prompt = torch.randint(0, 256, (2, 7), device="cuda")

    def fresh():
        return StaticCache(config=config, max_cache_len=64)

    cache = fresh()
    position = torch.arange(7, device="cuda")
    logits = model(prompt, past_key_values=cache, cache_position=position, use_cache=True).logits
    token = logits[:, -1:].argmax(-1)
    eager, t = [token], token
    for i in range(12):
        t = (
            model(
                t, past_key_values=cache, cache_position=torch.tensor([7 + i], device="cuda"), use_cache=True
            )
            .logits[:, -1:]
            .argmax(-1)
        )
        eager.append(t)
    cache.reset()
    model(prompt, past_key_values=cache, cache_position=position, use_cache=True)
    static_token, static_position = token.clone(), torch.tensor([7], device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        model(static_token, past_key_values=cache, cache_position=static_position, use_cache=True)
    torch.cuda.current_stream().wait_stream(side)
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        out = (
            model(static_token, past_key_values=cache, cache_position=static_position, use_cache=True)
            .logits[:, -1:]
            .argmax(-1)
        )
    cache.reset()
    model(prompt, past_key_values=cache, cache_position=position, use_cache=True)
    graphed = [token]
    for i in range(12):
        static_token.copy_(graphed[-1])
        static_position.fill_(7 + i)
        g.replay()
        graphed.append(out.clone())
    print("same", torch.equal(torch.cat(eager, 1), torch.cat(graphed, 1)))


if __name__ == "__main__":
    main()
