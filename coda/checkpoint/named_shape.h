// A tensor's name and shape, and the comparison of what a checkpoint holds with what a model needs.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace coda::checkpoint {

struct NamedShape {
  std::string name;
  std::vector<int64_t> shape;
  bool operator==(const NamedShape&) const = default;
};

std::string shape_text(std::span<const int64_t> shape);  // "[128, 64]"

// Throws one coda::Error that lists every missing tensor, every one too many and every wrong shape.
// Two kinds of extra tensors are let pass: the buffers of old checkpoints, `*rotary_emb.inv_freq`
// and GPT-2's masks `*.attn.bias` and `*.attn.masked_bias`, and `lm_head.weight` where it is not
// expected, the copy that some write of a tied embedding.
// `where` begins the message: the folder or file.
void check_shapes(const std::string& where, std::span<const NamedShape> found,
                  std::span<const NamedShape> expected);

}  // namespace coda::checkpoint
