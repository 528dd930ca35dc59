// A LLaMA block, forward and backward, as lists of catalogue operations. The rows of the tables in
// docs/training.md are the functions here: F1 to F4 and B0 to B7.
#pragma once
#include "coda/block/list_maker.h"
#include "coda/block/llama_parameters.h"

namespace coda::block {

// The residual stream between two blocks, or in the middle of one.
struct Stream {
  TensorView x;        // [M, h]
  TensorView scaled;   // x⊙γ of the norm that follows; none where γ is folded
  TensorView squares;  // [⌈h/64⌉, M]: Σx²

  const TensorView& multiplied() const { return scaled.data != nullptr ? scaled : x; }
};

// What the forward leaves for the backward.
struct Saved {
  Stream in, middle;
  TensorView q, k, v;     // [M, H·d], rotated
  TensorView zq, zk, zv;  // before the norm of every head, where there is one
  TensorView y, lse;      // attention's output [M, Hq·d]; [Hq, M]
  TensorView gate, up;    // [M, F]
  TensorView a;           // [M, F]: SwiGLU's output
};

class BlockLists : public ListMaker {
 public:
  struct Constants {
    TensorView positions;  // [M], int64
    TensorView inv_freq;   // [d/2]
  };

  BlockLists(const ListMaker& maker, const LlamaParameters& parameters, const Constants& constants);

  // From the stream before layer i to the one after it, whose `scaled` is of the next layer's norm
  // or the last one. Without `saved` nothing is kept for a backward.
  Stream forward(Nodes& nodes, int64_t i, const Stream& in, Saved* saved);
  // dx: by the stream after layer i. Returns the gradient by the stream before it. accumulate:
  // weight gradients are added to what is there.
  TensorView backward(Nodes& nodes, int64_t i, const Saved& saved, const TensorView& dx,
                      bool accumulate);

  Stream stream(const std::string& name, bool scaled);
  // Whether the norm is kept, and x⊙γ stored before it.
  bool kept(const Parameter& matrix) const { return matrix.folded_norm == nullptr; }

 private:
  std::vector<Argument> row_factor(const TensorView& squares) const;
  void rope(Nodes& nodes, int64_t i, Saved& saved);  // F4
  Stream residual_norm(Nodes& nodes, const char* label, const TensorView& a,
                       const Parameter& weight, const TensorView& residual,
                       const Parameter* kept_norm);               // F1, F3
  void swiglu(Nodes& nodes, int64_t i, Saved& saved, bool keep);  // F2
  Saved until_swiglu(Nodes& nodes, int64_t i, const Stream& in, bool keep);

  TensorView rope_backward(Nodes& nodes, int64_t i, const Saved& saved, const TensorView& dy,
                           std::vector<TensorView>& dz, bool accumulate);  // B0
  TensorView norm_backward(Nodes& nodes, const char* label, const std::vector<TensorView>& dz,
                           const Parameter& weight, const Parameter& norm, const Stream& stream,
                           const TensorView& dx_in, const TensorView& dots, TensorView& scaled,
                           bool accumulate);  // B1, B5
  void weight_grad(Nodes& nodes, const char* label, const std::vector<TensorView>& dz,
                   const TensorView& x, const Parameter& weight,
                   bool accumulate);  // B2, B4, B6, B7

  const LlamaParameters& parameters_;
  Constants constants_;
};

}  // namespace coda::block
