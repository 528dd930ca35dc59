import torch
from transformers import LlamaConfig, LlamaForCausalLM

import coda

sizes = dict(hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4)
model = coda.patch(LlamaForCausalLM(LlamaConfig(vocab_size=256, **sizes)))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
tokens = torch.tensor([list(b"A block is four GEMMs, each with a program behind it. " * 4)])
for step in range(1, 31):
    loss = model(input_ids=tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 10 == 0:
        print(f"step {step}: loss {loss:.3f}")
assert loss < 3, "the loss did not fall"
