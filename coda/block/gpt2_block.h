// A GPT-2 block, forward and backward, as lists of catalogue operations. The rows of its table in
// docs/training.md are the functions here. LayerNorm is deferred: of the linear behind it,
//   z = r·(A·W − μ·shift) + offset + bias, A = x⊙γ, shift = Σγ·W, offset = Σβ·W,
// so that its input needs no pass of its own.
#pragma once
#include "coda/block/gpt2_parameters.h"
#include "coda/block/list_maker.h"
#include "coda/catalogue/activation.h"

namespace coda::block {

// The residual stream between two blocks, or in the middle of one.
struct Gpt2Stream {
  TensorView x;        // [M, h]
  TensorView scaled;   // x⊙γ of the norm that follows
  TensorView moments;  // [⌈h/64⌉, M] pairs: Σx, Σx²
};

// What the forward leaves for the backward.
struct Gpt2Saved {
  Gpt2Stream in, middle;
  TensorView qkv_shifts, up_shifts;  // [2, out], fp32: shift and offset of c_attn, c_fc
  TensorView qkv;                    // [M, 3h]: q, k and v beside each other
  TensorView y, lse;                 // attention's output [M, h]; [H, M]
  TensorView before, a;              // [M, F]: before and after the activation
};

class Gpt2Blocks : public ListMaker {
 public:
  Gpt2Blocks(const ListMaker& maker, const Gpt2Parameters& parameters);

  // From the stream before layer i to the one after it. Without `saved` nothing is kept for a
  // backward.
  Gpt2Stream forward(Nodes& nodes, int64_t i, const Gpt2Stream& in, Gpt2Saved* saved) const;
  // dx: by the stream after layer i; whoever made it has finished its column sums, the gradient of
  // mlp.c_proj's bias. Returns the gradient by the stream before it. accumulate: gradients are
  // added to what is there.
  TensorView backward(Nodes& nodes, int64_t i, const Gpt2Saved& saved, const TensorView& dx,
                      bool accumulate) const;

  Gpt2Stream stream(const std::string& name) const;

 private:
  Gpt2Saved until_activation(Nodes& nodes, int64_t i, const Gpt2Stream& in, bool keep) const;
  TensorView shifts(Nodes& nodes, const char* label, const Parameter& norm,
                    const Gpt2Linear& linear) const;                    // F4, F2
  void qkv(Nodes& nodes, int64_t i, Gpt2Saved& saved) const;            // F4
  void up(Nodes& nodes, int64_t i, Gpt2Saved& saved, bool keep) const;  // F2
  Gpt2Stream residual(Nodes& nodes, const char* label, const TensorView& a,
                      const Gpt2Linear& linear, const TensorView& residual,
                      const Parameter& next_norm) const;  // F1, F3
  // Mean and r of the norm before a linear, and its shift, offset and bias.
  std::vector<Argument> norm_arguments(const TensorView& moments) const;
  std::vector<Argument> shift_arguments(const TensorView& shifts, const Gpt2Linear& linear) const;

  // The row sums that linear_layer_norm_backward takes of the linear's gradient.
  struct Sums {
    TensorView dots, shifts;  // [⌈out/64⌉, M]
  };
  Sums sums(const char* of, int64_t columns) const;
  TensorView norm_backward(Nodes& nodes, const char* label, const TensorView& dz, const Sums& sums,
                           const Gpt2Linear& linear, const Parameter& norm,
                           const Gpt2Stream& stream, const TensorView& dx_in,
                           const Parameter* bias_before, bool accumulate) const;  // B5, B6; B1, B2
  void linear_grad(Nodes& nodes, const char* label, const TensorView& x, const TensorView& dz,
                   const Parameter& weight, bool accumulate) const;

  const Gpt2Parameters& parameters_;
  Argument activation_;  // of the MLP
};

}  // namespace coda::block
